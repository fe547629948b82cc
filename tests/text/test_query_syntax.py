"""The syntax of text queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelspan.text import ParsedQuery, parse_query

WORD = st.text("abcdefxyz0189äß", min_size=1, max_size=6)
PHRASE = st.lists(WORD, min_size=1, max_size=2).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chess game", ParsedQuery("chess game", ("chess", "game"))),
        ("", ParsedQuery("")),
        ('"chess game"', ParsedQuery("chess game", phrases=("chess game",))),
        ("“chess game”", ParsedQuery("chess game", phrases=("chess game",))),
        ("chess -online", ParsedQuery("chess", ("chess",), without=("online",))),
        ('chess -"on line"', ParsedQuery("chess", ("chess",), without_phrases=("on line",))),
        ("chess -onl*", ParsedQuery("chess", ("chess",), without_prefixes=("onl",))),
        ("comput* game", ParsedQuery("comput game", ("game",), prefixes=("comput",))),
        ("e-mail - C* *", ParsedQuery("e-mail - C *", ("e-mail", "-", "*"), prefixes=("C",))),
        # Nothing special: not closed, inside of a word, empty.
        ('a 12" disk', ParsedQuery('a 12" disk', ("a", '12"', "disk"))),
        ('"open end', ParsedQuery('"open end', ('"open', "end"))),
        ('"" -- **', ParsedQuery('"" -- **', ('""', "--", "**"))),
    ],
)
def test_parts_of_a_query(text, expected):
    assert parse_query(text) == expected


@given(
    words=st.lists(WORD, max_size=2),
    prefixes=st.lists(WORD, max_size=2),
    phrases=st.lists(PHRASE, max_size=2),
    without=st.lists(WORD, max_size=2),
    without_prefixes=st.lists(WORD, max_size=2),
    without_phrases=st.lists(PHRASE, max_size=2),
)
def test_what_is_written_is_read_again(**parts):
    written = [
        *parts["words"],
        *(f"{word}*" for word in parts["prefixes"]),
        *(f'"{phrase}"' for phrase in parts["phrases"]),
        *(f"-{word}" for word in parts["without"]),
        *(f"-{word}*" for word in parts["without_prefixes"]),
        *(f'-"{phrase}"' for phrase in parts["without_phrases"]),
    ]
    parsed = parse_query(" ".join(written))
    for name, expected in parts.items():
        assert getattr(parsed, name) == tuple(expected)
    assert (
        parsed.text.split()
        == " ".join([*parts["words"], *parts["prefixes"], *parts["phrases"]]).split()
    )


def test_a_long_text_has_no_syntax():
    text = 'It is about "type checks" and -not- signs*, as in ' + "any text " * 4
    assert len(text.split()) > 16
    assert parse_query(text) == ParsedQuery(text, tuple(text.split()))
    assert not parse_query(" ".join(text.split()[:16])).plain


@given(st.text())
def test_any_text_is_a_query(text):
    parsed = parse_query(text)
    if not set(text) & set('"-*“”„«»'):
        assert parsed == ParsedQuery(text, tuple(text.split()))
    if parsed.plain:
        assert parsed.text == text
