"""Find labels that look wrong or missing, and labels that should be merged or dropped.

The evidence comes from a model trained without the item: the regression and the votes of
neighbours. If this model predicts a label badly on held-out items, its evidence is not reliable,
and no finding is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from .._typing import Array
from ..errors import InvalidParameter, Mismatch
from ..index.inputs import check_count
from ..index.tagging import ItemTagger
from ..operators.joined import words_of
from ..operators.row_data import pair_products, unit_rows
from ..tagger import Tagger
from ..tagger.implied_labels import named_levels
from ..text import normalise, split_words
from .audit_results import KINDS, Finding, LabelAudit
from .label_spelling import near_spellings, same_spelling

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["SURE", "audit_labels", "label_findings", "left_out_scores"]

Names = Sequence[str]

_JUNK = re.compile(
    r"(?:to ?do|tbd|fixme|xxx+|n/?a|none|null|nil|unknown|undefined|other|misc(?:ellaneous)?|"
    r"test|temp|untagged|uncategori[sz]ed|not[- ]yet[- ]tagged|[?.\-_*]+)",
    re.IGNORECASE,
)
_NEARLY_EQUAL = 0.9
_SAME_ITEMS = 0.8
_SAME_WORDS = 0.9
# Score of labels whose names differ in one letter, as boxing and boring do.
_ONE_LETTER = 0.9
_IMPLIED = 0.95
_FEW = 5
_MOST_LABELS = 3000
_MOST_UNLABELLED = 1000
_MOST_FINDINGS = 10_000
# Probabilities are known up to about this.
_LEAST_CHANCE = 1e-3
# Minimum distance of the mean probability of a label's items from its frequency, relative to 1, for
# it to look wrong; and fraction of held-out decisions that must be right for it to look missing.
_PREDICTED, _PRECISE = 0.2, 0.5
# Score from which a label is surely wrong: chosen with benchmarks/audit.py, so that about nine of
# ten were planted, with a twentieth of the labels swapped (results/audit.md). From the other score
# on, half of the labels that look missing were taken away; many others are missing indeed.
SURE, _SURELY_MISSING = 0.86, 0.6
# Words and nearest items that are shown as reasons, and how many of these items must agree.
EVIDENCE, _AGREEING = 6, 2
# As many of those from this score on are shown as make a hundred, marked as unsure.
_POSSIBLE, _FEWEST = 0.3, 100
# Votes of neighbours are known up to about two of twenty, and probabilities by the text and the
# other labels up to this: both evidences count about the same then.
_LEAST_VOTE, _LEAST_LIKELY = 0.1, 1e-4
# Share of the words of the longer of two texts that the other has, if they are nearly equal.
_WORDS_IN_BOTH = 0.6
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[^\W_])+")
# Entries of a block of labels.
_ENTRIES = 1 << 22


def audit_labels(
    index: SemanticIndex, n: int = 20, *, kinds: Sequence[str] | None = None
) -> LabelAudit:
    """Find labels that look wrong or missing, and labels to merge or drop.

    Parameters
    ----------
    index : SemanticIndex
        Fitted with labels.
    n : int, default=20
        Maximum number of findings of each kind.
    kinds : list of str or None, default=None
        Kinds of findings, for example ``["wrong", "missing"]``; None for all. Others are not
        computed.

    Returns
    -------
    LabelAudit
        Findings by kind, with their evidence: the probability of a label from a model trained
        without the item, and the items and words that labels share.

    See Also
    --------
    Review : Decides about them.

    Notes
    -----
    In an index of vectors, neighbours come from an embedding that was trained on the labels, so
    some wrong labels are not found.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import audit_labels
    >>> texts = ["a chess game", "play chess", "a chess club", "edit a photo", "crop photos"]
    >>> labels = [["game"], ["game"], ["game", "TODO"], ["image"], ["image"]]
    >>> audit_labels(SemanticIndex().fit(texts, labels), kinds=["junk"]).counts
    {'junk': 1}
    """
    check_count("audit", "n", n)
    if not index.can_tag:
        raise Mismatch("audit: this index was fitted without labels.")
    for kind in kinds or ():
        if kind not in KINDS:
            raise InvalidParameter(
                f"audit: kinds must be among {', '.join(KINDS)}, but {kind!r} was given."
            )
    tagger, ids = index.tagger, index.store.ids_by_row()
    assert tagger is not None
    names = [ids.get(int(row), "") for row in tagger.rows]
    wanted = [kind for kind in KINDS if kinds is None or kind in kinds]
    # A review has all labels that look wrong or missing.
    of_items = label_findings(index, tagger, names) if {"wrong", "missing"} & {*wanted} else []
    found = {
        kind: list(islice(_FINDERS[kind](index, tagger, names), _MOST_FINDINGS))
        if kind in _FINDERS
        else [one for one in of_items if one.kind == kind]
        for kind in wanted
    }
    listed = [one for own in found.values() for one in own[:n]]
    items = index.items(list({name for one in listed for name in one.items}))
    titles = {item.id: item.title for item in items}
    return LabelAudit(
        tuple(replace(one, titles=tuple(titles[name] for name in one.items)) for one in listed),
        {kind: len(own) for kind, own in found.items()},
    )


def label_findings(index: SemanticIndex, tagger: Tagger, names: Sequence[str]) -> list[Finding]:
    """Find the labels of items that look wrong or missing, the clearest first.

    ``names`` are the ids of the labelled items, in the order of the tagger.
    """
    rows, columns, truth, chances, likely, scores = left_out_scores(tagger)
    record = tagger.record
    precise = record.right >= _PRECISE * np.maximum(record.chosen, 1)
    # What is rarely right when it is chosen does not look missing anywhere.
    allowed = truth | (precise[columns] & (chances >= tagger.thresholds[columns]))
    # A label that is spelt in two ways is to be merged: neither is missing or wrong.
    allowed &= ~_spelt_otherwise(index, tagger, rows, columns, truth)
    allowed &= _supported(tagger, rows, columns, truth)
    sure = scores >= np.where(truth, SURE, _SURELY_MISSING)
    pairs = np.flatnonzero(allowed & (scores >= _POSSIBLE))
    pairs = pairs[np.lexsort((-scores[pairs], ~sure[pairs]))]
    made = []
    for pair in pairs[: max(int(np.count_nonzero(sure[pairs])), _FEWEST)]:
        chance, both = float(chances[pair]), float(likely[pair])
        made.append(
            Finding(
                "wrong" if truth[pair] else "missing",
                float(scores[pair]),
                (names[rows[pair]],),
                (tagger.labels[columns[pair]],),
                f"Without this item its probability is {chance:.0%} by the text, and {both:.0%} "
                "with the other labels.",
                {
                    "probability": chance,
                    "with_other_labels": both,
                    "base_rate": float(record.support[columns[pair]] / tagger.targets.shape[0]),
                    "sure": bool(sure[pair]),
                },
            )
        )
    order = {"missing": 0, "wrong": 1}
    return sorted(
        made, key=lambda one: (not one.sure, order[one.kind], -one.score, one.items, one.labels)
    )


def _supported(tagger: Tagger, rows: Array, columns: Array, truth: Array) -> Array:
    """Mark what is not contradicted by the nearest items, which a review shows as reasons.

    Of these at least some have a label that looks missing, or lack one that looks wrong.
    """
    near, cosines = (found[:, :EVIDENCE] for found in tagger.voters.among)
    places = np.repeat(np.arange(len(near)), (cosines > 0).sum(axis=1))
    ones = np.ones(places.size, dtype=np.float32)
    size = len(near)
    votes = sparse.csr_matrix((ones, (places, near[cosines > 0])), (size, size)) @ tagger.targets
    with_it = np.asarray(sparse.csr_matrix(votes)[rows, columns]).ravel()
    without = (cosines > 0).sum(axis=1)[rows] - with_it
    marks: Array = np.where(truth, without, with_it) >= _AGREEING
    return marks


def _spelt_otherwise(
    index: SemanticIndex, tagger: Tagger, rows: Array, columns: Array, truth: Array
) -> Array:
    """Mark labels that have another spelling, and absent ones if the item has that spelling."""
    number = {label: column for column, label in enumerate(tagger.labels)}
    groups = [group for found in _spelling_groups(index, tagger) for group in found]
    pairs = [
        (number[one], number[other]) for group in groups for one, other in permutations(group, 2)
    ]
    marks = np.zeros(rows.size, dtype=bool)
    if pairs:
        one, other = np.array(pairs, dtype=np.intp).T
        shape = (len(tagger.labels), len(tagger.labels))
        variants = sparse.csr_matrix((np.ones(one.size), (one, other)), shape)
        marks = truth & (np.diff(variants.indptr) > 0)[columns]
        has = sparse.csr_matrix(tagger.targets @ variants.T)
        absent = np.flatnonzero(~truth)
        marks[absent] = np.asarray(has[rows[absent], columns[absent]]).ravel() > 0
    return marks


def left_out_scores(tagger: Tagger) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Score labels that items have by how wrong they look, and others by how missing.

    Returns
    -------
    rows, columns, truth : arrays
        The pairs of an item and a label: all in which the item has the label, which ``truth``
        marks, and the most probable others.
    chances : array
        Probability of the label by the text, from a model without the item.
    likely : array
        Probability by the text and the other labels of the item.
    scores : array
        Of a label that an item does not have: ``likely``, times the share of the held-out decisions
        for the label that are right. Of one that it has: 1 - r^(1/4), where r is the ratio of
        ``likely`` to its mean over the items with the label, times the same ratio of the share of
        its neighbours that have the label.
    """
    found, labels = tagger.left_out, tagger.targets
    count = labels.shape[1]
    own = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    listed = np.repeat(np.arange(len(found.columns)), found.columns.shape[1])
    flat = found.columns.ravel().astype(np.int64)
    others = ~np.isin(listed * count + flat, own * count + labels.indices)
    rows = np.concatenate([own, listed[others]])
    columns = np.concatenate([labels.indices, flat[others]])
    truth = np.arange(rows.size) < own.size
    chances = np.concatenate([found.own, found.chances.ravel()[others]]).astype(np.float64)

    counts = np.maximum(1, np.bincount(columns[truth], minlength=count))
    share = counts / labels.shape[0]

    def ratio(values: Array, least: float = _LEAST_CHANCE) -> Array:
        """Compare with the mean of the items that have the label."""
        usual = np.bincount(columns[truth], values[truth], count) / counts
        found = (values + least) / (usual[columns] + least)
        # A label that is predicted badly does not look wrong anywhere.
        return np.where((usual >= share + _PREDICTED * (1 - share))[columns], found, 1.0)

    trusted = np.minimum(1.0, ratio(chances))[truth]
    company = _company(tagger, rows, columns, truth, trusted)
    clipped = np.clip(chances, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    likely = expit(logit(clipped) + company)
    odd = ratio(likely, _LEAST_LIKELY)[truth]
    usual = np.bincount(labels.indices, votes := _votes(tagger), count) / counts
    odd *= np.where(odd < 1, (votes + _LEAST_VOTE) / (usual[labels.indices] + _LEAST_VOTE), 1.0)
    record = tagger.record
    scores = likely * (record.right / np.maximum(1, record.chosen))[columns]
    # The root makes the two kinds comparable.
    scores[truth] = np.maximum(0.0, 1 - odd**0.25)
    return rows, columns, truth, chances, likely, scores


def _votes(tagger: Tagger) -> Array:
    """Return the share of an item's neighbours that have a label, for the labels of each item."""
    size, targets = tagger.targets.shape[0], tagger.targets
    near, cosines = tagger.voters.among
    rows, places = np.nonzero(cosines)
    ones = np.ones(rows.size, dtype=np.float32)
    votes = sparse.csr_matrix((ones, (rows, near[rows, places])), (size, size)) @ targets
    own = np.repeat(np.arange(size), np.diff(targets.indptr))
    found: Array = np.asarray(sparse.csr_matrix(votes)[own, targets.indices]).ravel()
    found /= np.maximum(1, np.bincount(rows, minlength=size))[own]
    return found


def _company(tagger: Tagger, rows: Array, columns: Array, truth: Array, trusted: Array) -> Array:
    """Return the change in the log-odds of a label given the other labels of an item.

    The mutual information with each, as far as that one is trusted, is summed and divided by the
    root of their number, because labels repeat each other.
    """
    chosen, labels, every = _together(tagger, 1)
    pattern = tagger.targets.indices, tagger.targets.indptr
    weights = sparse.csr_matrix((trusted, *pattern), tagger.targets.shape)[:, chosen]
    # Labels that are left out have the last column.
    place = np.full(len(tagger.labels), chosen.size)
    place[chosen] = np.arange(chosen.size)
    sums = np.zeros(rows.size)
    for own in (False, True):
        # The item itself does not count.
        both = np.maximum(every - own, 0)
        counts = np.diag(both)
        # One case more on both sides, so that rare labels tell little.
        information = np.log((both + 1) / (counts[:, None] * counts / labels.shape[0] + 1))
        np.fill_diagonal(information, 0.0)
        information = np.pad(information, ((0, 0), (0, 1)))
        pairs = np.flatnonzero(truth == own)
        step = max(1, _ENTRIES // (chosen.size + 1))
        for start in range(0, labels.shape[0], step):
            first, last = np.searchsorted(rows[pairs], [start, start + step])
            part = pairs[first:last]
            found = weights[start : start + step] @ information
            sums[part] = found[rows[part] - start, place[columns[part]]]
    sums /= np.sqrt(np.maximum(1, np.diff(tagger.targets.indptr)[rows] - truth))
    # Labels that often go together are often alternatives, so that none is missing.
    return np.where(truth, sums, np.minimum(sums, 0.0))


def _unlabelled(index: SemanticIndex, tagger: Tagger, _: Names) -> Iterator[Finding]:
    counts, ids = index.store.labels.counts, index.store.ids_by_row()
    rows = [row for row in sorted(ids) if counts[row] <= 0][:_MOST_UNLABELLED]
    if not rows:
        return
    items = ItemTagger(index.model, index.store, tagger)
    features = items.of_rows(np.array(rows, dtype=np.intp))
    columns, chances = tagger.best(features, 3)
    for row in np.argsort(-chances[:, 0], kind="stable"):
        labels = tuple(tagger.labels[column] for column in columns[row])
        likely = [f"{label} ({p:.0%})" for label, p in zip(labels, chances[row], strict=True)]
        reason = f"The most probable labels are {', '.join(likely)}."
        evidence = {"probabilities": chances[row].tolist()}
        score = float(chances[row, 0])
        yield Finding("unlabelled", score, (ids[rows[row]],), labels, reason, evidence)


def _duplicates(index: SemanticIndex, tagger: Tagger, names: Names) -> Iterator[Finding]:
    near, cosines = tagger.voters.among
    rows, places = np.nonzero(cosines)
    pairs = np.unique(np.sort([rows, near[rows, places]], axis=0), axis=1)
    units = unit_rows(words_of(tagger.features))
    cosines = pair_products(units, pairs[0], units, pairs[1])
    found = []
    for pair in np.flatnonzero(cosines >= _NEARLY_EQUAL):
        row, other = pairs[:, pair].tolist()
        a, b = (set(tagger.targets[one].indices.tolist()) for one in (row, other))
        if a != b:
            found.append((float(cosines[pair]) * len(a ^ b) / len(a | b), row, other, a ^ b))
    for score, row, other, different in sorted(found, key=lambda one: (-one[0], one[1:3])):
        if index.model.reads_texts and not _same_words(index, names[row], names[other]):
            continue
        changed = tuple(sorted(tagger.labels[column] for column in different))
        reason = f"Nearly the same text, but only one of the two has {', '.join(changed[:5])}."
        yield Finding("duplicates", min(1.0, score), (names[row], names[other]), changed, reason)


def _same_words(index: SemanticIndex, *names: str) -> bool:
    """Tell whether two texts have most of their words in common, also those of no feature.

    Few words of a language that a minority of the items have are features.
    """
    one, other = (set(_WORD.findall(index.item(name).text.casefold())) for name in names)
    return len(one & other) >= _WORDS_IN_BOTH * max(len(one), len(other))


def _merge(index: SemanticIndex, tagger: Tagger, names: Names) -> Iterator[Finding]:
    same = list(_same_names(index, tagger))
    yield from same
    columns, labels, both = _together(tagger, 3)
    counts = np.diag(both).copy()
    same_items = both / np.maximum(counts[:, None] + counts - both, 1)
    same_words = _agreement(labels, counts, words_of(tagger.features))
    score = np.maximum(
        np.where(same_items >= _SAME_ITEMS, same_items, 0),
        np.where(same_words >= _SAME_WORDS, same_words, 0),
    )
    spelt = {pair for one in same for pair in combinations(sorted(one.labels), 2)}
    a, b = np.nonzero(np.triu(score, 1))
    for pair in np.argsort(-score[a, b], kind="stable"):
        i, j = a[pair], b[pair]
        if tuple(sorted((tagger.labels[columns[i]], tagger.labels[columns[j]]))) in spelt:
            continue
        items, words = float(same_items[i, j]), float(same_words[i, j])
        yield Finding(
            "merge",
            float(min(1.0, score[i, j])),
            (),
            (tagger.labels[columns[i]], tagger.labels[columns[j]]),
            f"{items:.0%} of their items have both, and the words that set them apart from other "
            f"items agree by {words:.0%}.",
            {"same_items": items, "same_words": words},
        )


def _same_names(index: SemanticIndex, tagger: Tagger) -> Iterator[Finding]:
    """Find labels whose names differ only in case, accents, signs or a plural s, or in a letter."""
    support = dict(zip(tagger.labels, tagger.support.tolist(), strict=True))
    alike, near = _spelling_groups(index, tagger)
    for groups, score, how in (
        (alike, 1.0, "only in case, accents, signs or a plural s"),
        (near, _ONE_LETTER, "in one letter: a slip, or another word"),
    ):
        for group in groups:
            listed = " and ".join(f"{support[name]:,}" for name in group)
            reason = f"The names differ {how}; {listed} items have them."
            yield Finding("merge", score, (), tuple(group), reason, {"sure": groups is alike})


def _spelling_groups(index: SemanticIndex, tagger: Tagger) -> tuple[list[list[str]], ...]:
    """Group labels that are spelt the same, and the most frequent ones of these with slips of them.

    A name whose words are all in the texts, in any form, is no slip, however near it is to another.
    """
    support = dict(zip(tagger.labels, tagger.support.tolist(), strict=True))
    names = sorted((one for one in tagger.labels if support[one]), key=lambda one: -support[one])
    same: dict[str, list[str]] = {}
    for name in names:
        same.setdefault(same_spelling(name), []).append(name)
    place = {group[0]: n for n, group in enumerate(same.values())}
    stems, terms = _stems_of_texts(index)
    slips: dict[str, list[str]] = {}
    for name, near in near_spellings(place, place).items():
        first = min(near, key=place.__getitem__)
        other_word = terms.issuperset(stems(name)) and stems(name) != stems(first)
        if place[first] < place[name] and not other_word:
            slips.setdefault(first, [first]).append(name)
    alike = [group for group in same.values() if len(group) > 1]
    return alike, sorted(slips.values(), key=lambda group: place[group[0]])


def _stems_of_texts(index: SemanticIndex) -> tuple[Callable[[str], list[str]], set[str]]:
    """Return how the words of a name are compared, and all words that the texts have."""
    if index.store.words is None:
        return lambda name: [name], set()
    vocabulary = index.store.words.vocabulary
    analyzer = vocabulary.analyzer
    return lambda name: analyzer.stems(split_words(normalise(name))), set(vocabulary.terms)


def _agreement(labels: Any, counts: Array, features: Any) -> Array:
    """Return cosines of the mean features of labels, compared with the mean of all items."""
    means = sparse.diags_array(1 / np.maximum(counts, 1)) @ (labels.T @ features)
    centre = np.asarray(features.mean(axis=0)).ravel()
    along = np.asarray(means @ centre)
    inner = _dense(means @ means.T) - along[:, None] - along + centre @ centre
    lengths = np.sqrt(np.maximum(np.diag(inner), 1e-12))
    return np.asarray(inner / lengths[:, None] / lengths)


def _implied(_: SemanticIndex, tagger: Tagger, names: Names) -> Iterator[Finding]:
    columns, labels, both = _together(tagger, _FEW)
    counts = np.diag(both).copy()
    share = both / np.maximum(counts, 1)[:, None]
    # Not what almost every item has.
    rare = counts < 0.5 * labels.shape[0]
    fits = (share >= _IMPLIED) & (counts[None, :] > 1.2 * counts[:, None]) & rare[None, :]
    a, b = np.nonzero(fits)
    for pair in np.lexsort((-counts[a], -share[a, b])):
        i, j = a[pair], b[pair]
        low, high = tagger.labels[columns[i]], tagger.labels[columns[j]]
        reason = f"{share[i, j]:.0%} of the {counts[i]:.0f} items with {low} have {high}."
        yield Finding("implied", float(share[i, j]), (), (low, high), reason)


def _broader(kind: str, index: SemanticIndex, _: Tagger, names: Names) -> Iterator[Finding]:
    """Find items that differ from the others with a label: most have its broader label, or not."""
    vocabulary = index.vocabulary
    table, ids, missing = index.store.labels, index.store.ids_by_row(), kind == "broader_missing"
    found = []
    for low in table.totals:
        rows = table.rows(low)
        # By its name, only the nearest one.
        above = {name for name in named_levels(low) if name in table.totals}
        above = {max(above, key=len)} if above else set()
        if vocabulary is not None:
            above |= set(vocabulary.concept(low).broader) & table.totals.keys()
        for high in above:
            both = np.isin(rows, table.rows(high))
            share = float(both.mean())
            # Where most items have both, the broader label belongs there.
            if (share >= 0.5) == missing and both.any() and not both.all():
                odd = (rows[~both] if missing else rows[both]).tolist()
                also = "lack" if missing else "also have"
                if len(odd) == 1:
                    also = "lacks" if missing else "also has"
                reason = (
                    f"{len(odd):,} of the {len(rows):,} items with {low} {also} {high}, which is "
                    "broader."
                )
                score, items = share if missing else 1 - share, tuple(ids[row] for row in odd)
                found.append(Finding(kind, score, items, (low, high), reason))
    yield from sorted(found, key=lambda one: (-one.score, one.labels))


def _junk(_: SemanticIndex, tagger: Tagger, names: Names) -> Iterator[Finding]:
    for label, support in zip(tagger.labels, tagger.support, strict=True):
        if support and _JUNK.fullmatch(re.split(r"::|[:/]", label)[-1].strip()):
            reason = f"The name says nothing; {support} items have it."
            yield Finding("junk", 1.0, (), (label,), reason)


_FINDERS: dict[str, Callable[[SemanticIndex, Tagger, Names], Iterator[Finding]]] = {
    "merge": _merge,
    "implied": _implied,
    "duplicates": _duplicates,
    "unlabelled": _unlabelled,
    "broader_missing": partial(_broader, "broader_missing"),
    "broader_too": partial(_broader, "broader_too"),
    "junk": _junk,
}


def _together(tagger: Tagger, least: int) -> tuple[Array, sparse.csr_matrix, Array]:
    """Return columns of the most frequent labels, the labels, and how many items have each two."""
    order = np.argsort(-tagger.support, kind="stable")[:_MOST_LABELS]
    columns = np.sort(order[tagger.support[order] >= least])
    labels = tagger.targets[:, columns]
    return columns, labels, (labels.T @ labels).toarray()


def _dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
