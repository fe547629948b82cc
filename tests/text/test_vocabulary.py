"""Word numbers: splitting, languages, blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelspan.text import (
    TOKENS,
    TextBlock,
    Vocabulary,
    detect_language,
    normalise,
    split_words,
)

TEXT = st.text("ab zZ\n,é\u0301数据ｱ9_", max_size=12)


@given(texts=st.lists(TEXT, max_size=6), cut=st.integers(0, 6))
def test_blocks_are_the_words_of_the_texts(texts, cut):
    vocabulary = Vocabulary("none")
    parts = [vocabulary.number(texts[:cut]), vocabulary.number(texts[cut:])]
    block = TextBlock.join(parts)
    words = [
        [vocabulary.words[n] for n in block.tokens[a:b]]
        for a, b in zip(block.starts, block.starts[1:], strict=False)
    ]
    assert words == [TOKENS.findall(normalise(text)) for text in texts]
    whole = Vocabulary("none")
    together = whole.number(texts)
    for name, values in together.arrays().items():
        np.testing.assert_array_equal(block.arrays()[name], values)
    assert whole.words == vocabulary.words == list(dict.fromkeys(w for own in words for w in own))
    # Pairs of characters are those that nothing stands between.
    pairs = [
        (vocabulary.words[block.tokens[n]], vocabulary.words[block.tokens[n + 1]])
        for n in block.adjacent
    ]
    unspaced = "数据ア"
    assert pairs == [
        (a, b)
        for text in texts
        for a, b in zip(normalise(text), normalise(text)[1:], strict=False)
        if a in unspaced and b in unspaced
    ]
    rows = list(range(len(texts)))[::-1]
    taken, again = block.take(np.array(rows, dtype=int)), whole.number(texts[::-1])
    for name, values in again.arrays().items():
        np.testing.assert_array_equal(taken.arrays()[name], values)


def test_words_in_ascii_are_split_as_all_others():
    text = "".join(map(chr, range(128))) + " don't stop_it 3.14 a-b A_B\x00c \x1cd"
    assert split_words(text) == TOKENS.findall(text)
    assert split_words("") == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "This is the house that Jack built, and it is not far from here."),
        ("fi", "Tämä on talo, jonka hän rakensi, mutta se ei ole enää siellä ja se on myyty."),
        ("de", "Das ist das Haus, das er gebaut hat, und es ist nicht weit von hier."),
        ("sv", "Det är huset som han har byggt, och det är inte så långt från den här staden."),
        ("fr", "C'est la maison qu'il a construite, et elle n'est pas loin de la ville."),
        ("es", "Esta es la casa que construyó, y no está muy lejos de la ciudad."),
        ("ru", "Это дом, который он построил, и он не очень далеко от города."),
        ("none", "这是他建造的房子离城市不远。"),
        ("none", "xyzzy plugh frobnicate"),
        ("none", ""),
    ],
)
def test_the_language_is_detected(code, text):
    assert detect_language([text] * 3) == code
