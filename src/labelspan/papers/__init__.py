"""Experiments: what the methods do on real data, measured."""
