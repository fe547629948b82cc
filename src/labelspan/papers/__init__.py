"""Reproduction of the experiments of three papers."""
