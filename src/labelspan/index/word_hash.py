"""Hashes of words and of pairs of words, and columns of a table by them.

A word is hashed by BLAKE2 to 64 bits, a pair by mixing the hashes of its words: all pairs of a
block of texts are hashed in one step on arrays, without a string for each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._typing import Array

__all__ = [
    "FEWEST_COLUMNS",
    "MOST_COLUMNS",
    "hash_pairs",
    "hash_words",
    "hashed_columns",
    "words_by_column",
]

# The fewest and the most columns that words are hashed to.
FEWEST_COLUMNS, MOST_COLUMNS = 1 << 8, 1 << 24
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))


def hash_words(words: Sequence[str]) -> Array:
    """Return a 64-bit hash of each word."""
    blake = hashlib.blake2b
    content = b"".join([blake(word.encode(), digest_size=8).digest() for word in words])
    return np.frombuffer(content, dtype=">u8").astype(np.uint64)


def hash_pairs(first: Array, second: Array) -> Array:
    """Return the hashes of pairs of words from those of the words."""
    turned = (second << np.uint64(29)) | (second >> np.uint64(35))
    mixed: Array = first * _MIX[0] + turned * _MIX[1]
    mixed = mixed ^ (mixed >> np.uint64(32))
    return np.asarray(mixed * _MIX[2])


def hashed_columns(tokens: Sequence[str], count: int) -> Array:
    """Return the columns of the words of a text, then those of its pairs, out of ``count``."""
    codes = hash_words(tokens)
    every = np.concatenate([codes, hash_pairs(codes[:-1], codes[1:])])
    return (every % np.uint64(count)).astype(np.int32)


def words_by_column(tokens: Sequence[str], count: int) -> dict[int, str]:
    """Return the words and pairs of a text that share each column."""
    every = [*tokens, *(f"{one} {two}" for one, two in pairwise(tokens))]
    found: dict[int, dict[str, None]] = {}
    for column, word in zip(hashed_columns(tokens, count).tolist(), every, strict=True):
        found.setdefault(column, {})[word] = None
    return {column: " / ".join(words) for column, words in found.items()}
