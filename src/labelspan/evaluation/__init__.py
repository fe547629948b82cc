"""Compare methods on a tagged corpus."""
