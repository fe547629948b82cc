"""Words of many texts as numbers are those that texts are split into one by one."""

from __future__ import annotations

import random

import pytest

from labelspan.index import word_numbers
from labelspan.index.analysis import normalise, split_words
from labelspan.index.word_numbers import number_words

_ASCII = ["a", "b", "Z", "1", "_", " ", " ", ",", "\n", "\0", "\x1f", "-"]
_OTHERS = ["é", "ß", "你", "好", "ก", "\u0301", "\u0904", "\U0001d4b3", "𐐀", "\x85", "\u2028", "İ"]


def _one_by_one(texts: list[str]) -> tuple[list[str], list[int], list[int]]:
    numbers: dict[str, int] = {}
    tokens: list[int] = []
    starts = [0]
    for text in texts:
        words = split_words(normalise(text).lower())
        tokens += [numbers.setdefault(word, len(numbers)) for word in words]
        starts.append(len(tokens))
    return list(numbers), tokens, starts


def _check(texts: list[str]) -> None:
    lowered = [text if text.isascii() else normalise(text).lower() for text in texts]
    words, tokens, starts = number_words(lowered)
    assert (words, tokens.tolist(), starts.tolist()) == _one_by_one(texts)


@pytest.mark.parametrize("part", [1 << 23, 40])
@pytest.mark.parametrize("seed", range(20))
def test_words_are_those_of_each_text(
    seed: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_numbers, "_PARTS", {True: part, False: part})
    draw = random.Random(seed)
    texts = [
        "".join(draw.choices(draw.choice([_ASCII[:4], _ASCII, _ASCII + _OTHERS]), k=size))
        for size in (0, 1, 5, 17, 60, 200, 400)
    ]
    _check(texts)


@pytest.mark.parametrize("texts", [[], [""], ["", " , "], ["你好 word", "word"]])
def test_texts_without_words(texts: list[str]) -> None:
    _check(texts)


def test_long_words_are_compared_to_their_end() -> None:
    sizes = (7, 8, 9, 15, 16, 17, 63, 64, 65, 72, 200)
    _check([f"{'x' * size}{end} {'é' * size}{end}" for size in sizes for end in ("", "a", "b")])


def test_every_character_of_the_first_planes() -> None:
    characters = [chr(code) for code in range(0, 0x30000, 7) if not 0xD800 <= code < 0xE000]
    _check([f"x{character}y" for character in characters])
