"""Names that are spelt nearly the same."""

import itertools
import random

import pytest

from labelspan.curation.label_spelling import near_spellings, same_spelling


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Horror Movies", "horror movies"),
        ("Café", "cafe"),
        ("T-Shirts", "T-shirt"),
        ("sci_fi", "Sci-Fi"),
        ("colour", "color"),
        ("documentary", "documentray"),
        ("Straße", "strasse"),
        ("\u0391\u03b8\u03ae\u03bd\u03b1", "\u0391\u03b8\u03b7\u03bd\u03b1"),
    ],
)
def test_near_names_are_found_from_both_sides(one, other):
    assert near_spellings([one], ["other", other]) == {one: [other]}
    assert near_spellings([other], [one, "other"]) == {other: [one]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("c", "c++"),
        ("c", "c#"),
        ("implemented-in::c", "implemented-in::r"),
        ("cat", "car"),
        ("Season 10", "Season 11"),
        ("year 2001", "year 2002"),
        ("male", "female"),
        ("drama", "dream"),
        # A vowel sign is a letter, as is a mark of Cyrillic.
        ("\u0915\u093f", "\u0915\u0940"),
        ("\u043c\u043e\u0439", "\u043c\u043e\u0438"),
        ("", "a"),
    ],
)
def test_other_words_are_not_near(one, other):
    assert near_spellings([one], [other]) == {}
    assert near_spellings([other], [one]) == {}


def test_a_name_is_not_near_itself():
    assert near_spellings(["drama"], ["drama", "Drama"]) == {"drama": ["Drama"]}


def distance(a, b):
    """Edits of one letter, and exchanges of two neighbours, between two texts."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        table[i, j] = min(
            table[i - 1, j] + 1,
            table[i, j - 1] + 1,
            table[i - 1, j - 1] + (a[i - 1] != b[j - 1]),
        )
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a), len(b)]


@pytest.mark.parametrize("seed", range(3))
def test_all_pairs_agree_with_the_distance_of_two_texts(seed):
    draw = random.Random(seed)
    names = sorted({"".join(draw.choices("ab", k=draw.randint(3, 7))) for _ in range(80)})
    found = near_spellings(names, names)
    for one, other in itertools.product(names, names):
        apart = distance(same_spelling(one), same_spelling(other))
        long = min(len(same_spelling(one)), len(same_spelling(other))) >= 4
        expected = one != other and (apart == 0 or (apart == 1 and long))
        assert (other in found.get(one, [])) == expected, (one, other)
