"""Benchmarks of labelspan; see README.md in this folder."""
