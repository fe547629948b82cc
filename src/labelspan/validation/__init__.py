"""Checks that need no linear algebra: parameters against their constraints."""
