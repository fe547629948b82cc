"""Find labels that look wrong or missing, and labels that should be merged, split or dropped.

The evidence comes from a model trained without the item: the regression and the votes of
neighbours. If this model predicts a label badly on held-out items, its evidence is not reliable,
and no finding is reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidParameter, Mismatch
from ..index.tagging import tag_features
from ..operators.row_data import unit_rows
from ..tagger import Tagger
from .audit_results import KINDS, AuditKind, Finding, LabelAudit
from .similar_rows import similar_rows

if TYPE_CHECKING:
    from ..index import SemanticIndex
    from ..index.store import ItemStore

__all__ = ["audit_labels", "label_findings", "left_out_pairs", "wrong_scores"]

_JUNK = re.compile(
    r"(?:to ?do|tbd|fixme|xxx+|n/?a|none|null|nil|unknown|undefined|other|misc(?:ellaneous)?|"
    r"test|temp|untagged|uncategori[sz]ed|not[- ]yet[- ]tagged|[?.\-_*]+)",
    re.IGNORECASE,
)
_NEARLY_EQUAL = 0.9
_SAME_ITEMS = 0.8
_SAME_WORDS = 0.9
_IMPLIED = 0.95
_FEW = 5
_ENOUGH_TO_SPLIT = 20
_DIFFERENT = 0.35
_MOST_LABELS = 3000
# Probabilities are known up to about this.
_LEAST_CHANCE = 0.01
_VOTES_AT_ONCE = 50
# Share of left-out decisions that must be right, and scores from which a finding is clear: chosen
# on 2,500 items each of netflix, debtags and stackoverflow with a twentieth of the labels replaced.
# Planted ones are 18, 30 and 16% of the wrong labels found, and 33, 29 and 36% of the missing ones
# (from .5 on 20, 16 and 21%); the sets have mistakes of their own.
_RELIABLE = 0.5
_CLEARLY_WRONG = 0.7
_CLEARLY_MISSING = 0.7
# File of the findings in the folder of an index.
_NAME = "audit"


def audit_labels(
    index: SemanticIndex, n: int = 20, kinds: Sequence[AuditKind] | None = None
) -> LabelAudit:
    """Find labels that look wrong or missing, and labels to merge, split or drop.

    Parameters
    ----------
    index : SemanticIndex
        Fitted with labels.
    n : int, default=20
        Maximum number of findings of each kind that are listed.
    kinds : list of str or None, default=None
        Kinds of findings; None for all. Others are not computed.

    Returns
    -------
    LabelAudit
        Findings by kind, the clearest first, and the number of all findings of each kind.

    See Also
    --------
    Review : Decides about wrong and missing labels one by one.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import audit_labels
    >>> texts = ["a chess game", "chess online", "edit photos", "edit a photo"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image", "TODO"]])
    >>> audit_labels(index, kinds=["junk"]).counts
    {'junk': 1}
    """
    if not index.can_tag:
        raise Mismatch("audit: this index was fitted without labels.")
    wanted: Sequence[AuditKind] = tuple(KINDS) if kinds is None else kinds
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown:
        raise InvalidParameter(
            f"audit: kinds must be among {', '.join(KINDS)}, but {unknown[0]!r} was given."
        )
    known = _stored(index.store)
    missing = [kind for kind in KINDS if kind in wanted and not _enough(known.get(kind), n)]
    if missing:
        known |= _computed(index, n, missing)
        index.store.keep(_NAME, {kind: asdict(one) for kind, one in known.items()})
    found = [one for kind in KINDS if kind in wanted for one in known[kind].findings[:n]]
    counts: dict[AuditKind, int] = {kind: known[kind].count for kind in KINDS if kind in wanted}
    labels = next((known[kind].labels for kind in wanted), 0)
    return LabelAudit(tuple(found), len(index), labels, counts)


@dataclass(frozen=True)
class _KindFindings:
    """Findings of a kind, the number of all of them, and the number of labels."""

    findings: list[Finding]
    count: int
    labels: int


def _enough(part: _KindFindings | None, n: int) -> bool:
    return part is not None and len(part.findings) >= min(n, part.count)


def _stored(store: ItemStore) -> dict[AuditKind, _KindFindings]:
    """Read what was found before in these items and labels, by this process or another."""
    found = store.stored(_NAME)
    try:
        return {
            kind: _KindFindings(
                [_read_finding(kind, one) for one in found[kind]["findings"]],
                int(found[kind]["count"]),
                int(found[kind]["labels"]),
            )
            for kind in KINDS
            if found and kind in found
        }
    except (TypeError, KeyError, ValueError, AttributeError):
        # A cache of somebody else; what it should have is computed.
        return {}


def _read_finding(kind: AuditKind, one: dict[str, Any]) -> Finding:
    items, labels, titles = (tuple(map(str, one[name])) for name in ("items", "labels", "titles"))
    evidence = dict(one["evidence"])
    return Finding(kind, float(one["score"]), items, labels, str(one["reason"]), evidence, titles)


def _computed(
    index: SemanticIndex, n: int, wanted: Sequence[AuditKind]
) -> dict[AuditKind, _KindFindings]:
    """Find at most ``n`` findings of some kinds."""
    tagger = index.tagger
    assert tagger is not None
    ids = index.store.ids_by_row()
    names = [ids.get(int(row), "") for row in tagger.rows]
    pairs: dict[AuditKind, list[Finding]] = {}
    if "wrong" in wanted or "missing" in wanted:
        pairs = {"wrong": [], "missing": []}
        for one in label_findings(tagger, names):
            pairs[one.kind].append(one)
    parts: dict[AuditKind, Iterator[Finding]] = {
        "unlabelled": _unlabelled(index, tagger, ids, n),
        "duplicates": _duplicates(tagger, names),
        "merge": _merge(tagger),
        "split": _split(tagger),
        "implied": _implied(tagger),
        "broader_missing": _broader(index, missing=True),
        "broader_too": _broader(index, missing=False),
        "unpredictable": _unpredictable(tagger),
        "junk": _junk(tagger),
        "rare": _rare(tagger, names),
    }
    found = {}
    for kind in wanted:
        # The others are generators: what is not asked for is not computed.
        every = pairs[kind] if kind in pairs else list(parts[kind])
        found[kind] = _KindFindings(_titled(index, every[:n]), len(every), len(tagger.labels))
    return found


def _titled(index: SemanticIndex, found: list[Finding]) -> list[Finding]:
    """Add the titles of the items."""
    listed = list({name for one in found for name in one.items})
    titles = {item.id: item.title for item in index.items(listed)}
    return [
        replace(one, titles=tuple(titles.get(name, name) for name in one.items)) for one in found
    ]


def label_findings(tagger: Tagger, names: Sequence[str]) -> list[Finding]:
    """Find the labels of items that look wrong or missing, the clearest first.

    A label of an item looks wrong if a model trained without the item gives it a far smaller
    probability than for other items with the label; a label that the item does not have looks
    missing if its probability is high. Only labels with a recall of at least one half on held-out
    items can look wrong, and only labels with a precision of at least one half can look missing.

    Parameters
    ----------
    tagger : Tagger
    names : list of str
        Id of each labelled item, in the order of the tagger.
    """
    found, record = left_out_pairs(tagger), tagger.record
    chosen, right, support = (
        np.asarray(part, dtype=np.float64) for part in (record.chosen, record.right, record.support)
    )
    recalled = right >= _RELIABLE * np.maximum(support, 1)
    precise = right >= _RELIABLE * np.maximum(chosen, 1)
    made: list[Finding] = []

    def finding(kind: AuditKind, score: float, pair: int) -> Finding:
        chance = float(found.chances[pair])
        item, label = names[found.rows[pair]], tagger.labels[found.columns[pair]]
        reason = f"Without this item its probability is {chance:.0%}."
        return Finding(kind, score, (item,), (label,), reason, {"probability": chance})

    own = np.flatnonzero(found.truth)
    scores = wrong_scores(found.columns[own], found.chances[own], len(tagger.labels))
    clear = (scores >= _CLEARLY_WRONG) & recalled[found.columns[own]]
    for pair, score in zip(own[clear].tolist(), scores[clear].tolist(), strict=True):
        made.append(finding("wrong", score, pair))
    least = np.maximum(tagger.thresholds, _CLEARLY_MISSING)[found.columns]
    others = np.flatnonzero(~found.truth & (found.chances >= least))
    for pair in others[precise[found.columns[others]]].tolist():
        made.append(finding("missing", float(found.chances[pair]), pair))
    made.sort(key=lambda one: (-one.score, one.items, one.labels))
    return list(_with_votes(tagger, made, names))


def _with_votes(
    tagger: Tagger, listed: Sequence[Finding], names: Sequence[str]
) -> Iterator[Finding]:
    """Add to findings which share of the votes of neighbours is for the label."""
    number = {name: row for row, name in enumerate(names)}
    for start in range(0, len(listed), _VOTES_AT_ONCE):
        part = listed[start : start + _VOTES_AT_ONCE]
        rows = np.array([number[one.items[0]] for one in part], dtype=np.intp)
        columns = [tagger.columns[one.labels[0]] for one in part]
        votes = tagger.voters.votes(tagger.features[rows], rows)
        shares = np.asarray(votes[np.arange(rows.size), columns]).ravel().tolist()
        for one, share in zip(part, shares, strict=True):
            chance = one.evidence["probability"]
            reason = (
                f"Without this item its probability is {chance:.0%}, and {share:.0%} of the votes "
                "of neighbours are for it."
            )
            yield replace(one, reason=reason, evidence={"probability": chance, "votes": share})


@dataclass(frozen=True)
class LeftOutPairs:
    """Items and labels with their probabilities by models without the item.

    All pairs in which the item has the label (``truth``), and the most probable others.
    """

    rows: Array
    columns: Array
    chances: Array
    truth: Array


def left_out_pairs(tagger: Tagger) -> LeftOutPairs:
    """Take the pairs from what the tagger keeps."""
    found, labels = tagger.left_out, tagger.targets
    count = labels.shape[1]
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    listed = np.repeat(np.arange(len(found.columns)), found.columns.shape[1])
    flat = found.columns.ravel().astype(np.int64)
    others = ~np.isin(listed * count + flat, rows * count + labels.indices)
    return LeftOutPairs(
        np.concatenate([rows, listed[others]]),
        np.concatenate([labels.indices, flat[others]]),
        np.concatenate([found.own, found.chances.ravel()[others]]),
        np.arange(rows.size + others.sum()) < rows.size,
    )


def wrong_scores(columns: Array, chances: Array, count: int) -> Array:
    """Tell for labels of items, given by their columns, how wrong each looks.

    A label looks wrong in so far as it is less probable than for the other items that have it: the
    score is 1 minus the ratio of the two probabilities.
    """
    usual = np.bincount(columns, chances, minlength=count) / np.maximum(
        1, np.bincount(columns, minlength=count)
    )
    ratio = (chances + _LEAST_CHANCE) / (usual[columns] + _LEAST_CHANCE)
    return np.maximum(0.0, 1 - ratio)


def _unlabelled(
    index: SemanticIndex, tagger: Tagger, ids: dict[int, str], n: int
) -> Iterator[Finding]:
    counts = index.store.labels.counts
    rows = [row for row in sorted(ids) if counts[row] <= 0][: 50 * n]
    if not rows:
        return
    bare = [ids[row] for row in rows]
    features = tag_features(index.model, tagger, index.store, np.array(rows, dtype=np.intp))
    columns, chances = tagger.best(features, 3)
    for row in np.argsort(-chances[:, 0], kind="stable"):
        labels = tuple(tagger.labels[column] for column in columns[row])
        listed = ", ".join(
            f"{label} ({chance:.0%})" for label, chance in zip(labels, chances[row], strict=True)
        )
        yield Finding(
            "unlabelled",
            float(chances[row, 0]),
            (bare[row],),
            labels,
            f"The most probable labels are {listed}.",
            {"probabilities": chances[row].tolist()},
        )


def _duplicates(tagger: Tagger, names: list[str]) -> Iterator[Finding]:
    labels = tagger.targets
    pairs = []
    for row, other, cosine in similar_rows(tagger.features, _NEARLY_EQUAL):
        a, b = set(labels[row].indices.tolist()), set(labels[other].indices.tolist())
        if a != b:
            share = len(a ^ b) / max(1, len(a | b))
            pairs.append((cosine * share, row, other, a ^ b))
    for score, row, other, different in sorted(pairs, key=lambda pair: (-pair[0], pair[1:3])):
        changed = tuple(sorted(tagger.labels[column] for column in different))
        yield Finding(
            "duplicates",
            score,
            (names[row], names[other]),
            changed,
            f"Nearly the same text, but only one of the two has {', '.join(changed[:5])}.",
        )


def _merge(tagger: Tagger) -> Iterator[Finding]:
    yield from _same_names(tagger)
    columns = _frequent(tagger, 3)
    if not columns.size:
        return
    labels = tagger.targets[:, columns]
    both = (labels.T @ labels).toarray()
    counts = np.diag(both).copy()
    union = counts[:, None] + counts - both
    same_items = np.divide(both, union, out=np.zeros_like(both), where=union > 0)
    same_words = _agreement(labels, counts, tagger.features)
    score = np.maximum(
        np.where(same_items >= _SAME_ITEMS, same_items, 0),
        np.where(same_words >= _SAME_WORDS, same_words, 0),
    )
    a, b = np.nonzero(np.triu(score, 1))
    for pair in np.argsort(-score[a, b], kind="stable"):
        i, j = a[pair], b[pair]
        names = (tagger.labels[columns[i]], tagger.labels[columns[j]])
        yield Finding(
            "merge",
            float(min(1.0, score[i, j])),
            (),
            names,
            f"{same_items[i, j]:.0%} of their items have both, and the words that set them apart "
            f"from other items agree by {same_words[i, j]:.0%}.",
            {"same_items": float(same_items[i, j]), "same_words": float(same_words[i, j])},
        )


def _same_names(tagger: Tagger) -> Iterator[Finding]:
    """Find labels whose names differ only in case, signs or a plural s."""
    spelled: dict[str, list[int]] = {}
    for column, label in enumerate(tagger.labels):
        if tagger.record.support[column]:
            plain = unicodedata.normalize("NFKC", label).casefold()
            words = [word.removesuffix("s") or word for word in re.findall(r"[^\W_]+", plain)]
            spelled.setdefault("".join(words) or plain, []).append(column)
    for columns in spelled.values():
        if len(columns) > 1:
            listed = " and ".join(f"{tagger.record.support[column]:,}" for column in columns)
            yield Finding(
                "merge",
                1.0,
                (),
                tuple(tagger.labels[column] for column in columns),
                f"The names differ only in spelling; {listed} items have them.",
            )


def _agreement(labels: Any, counts: Array, features: Any) -> Array:
    """Return cosines of the mean features of labels, compared with the mean of all items."""
    means = sparse.diags_array(1 / np.maximum(counts, 1)) @ (labels.T @ features)
    centre = np.asarray(features.mean(axis=0)).ravel()
    along = np.asarray(means @ centre)
    inner = _dense(means @ means.T) - along[:, None] - along + centre @ centre
    lengths = np.sqrt(np.maximum(np.diag(inner), 1e-12))
    return np.asarray(inner / lengths[:, None] / lengths)


def _split(tagger: Tagger) -> Iterator[Finding]:
    found = []
    units = unit_rows(tagger.features)
    labels = tagger.targets.tocsc()
    for column in _frequent(tagger, _ENOUGH_TO_SPLIT):
        rows = units[np.sort(labels.indices[labels.indptr[column] : labels.indptr[column + 1]])]
        # Two groups around the most distant items from the mean, by a few rounds of 2-means.
        everyone = np.ones(rows.shape[0], dtype=bool)
        ends = [_row(rows, int(np.argmin(rows @ _centre(rows, everyone))))]
        ends.append(_row(rows, int(np.argmin(rows @ ends[0]))))
        side = ~everyone
        for _ in range(5):
            before, side = side, rows @ ends[0] >= rows @ ends[1]
            if side.all() or not side.any() or (side == before).all():
                break
            ends = [_centre(rows, part) for part in (side, ~side)]
        smaller = min(side.mean(), 1 - side.mean())
        alike = float(ends[0] @ ends[1])
        # How far the words of this number of items agree at all: two halves, taken in turn.
        even = np.arange(rows.shape[0]) % 2 == 0
        usual = float(_centre(rows, even) @ _centre(rows, ~even))
        if smaller >= 0.25 and alike <= _DIFFERENT * usual:
            found.append((1 - alike, int(column), float(smaller)))
    for score, column, smaller in sorted(found, reverse=True):
        yield Finding(
            "split",
            score,
            (),
            (tagger.labels[column],),
            f"Its items form two groups ({smaller:.0%} and {1 - smaller:.0%}) whose words agree by "
            f"only {1 - score:.0%}.",
        )


def _implied(tagger: Tagger) -> Iterator[Finding]:
    columns = _frequent(tagger, _FEW)
    labels = tagger.targets[:, columns]
    both = (labels.T @ labels).toarray()
    counts = np.diag(both).copy()
    share = both / np.maximum(counts, 1)[:, None]
    # Not what almost every item has.
    rare = counts < 0.5 * labels.shape[0]
    fits = (share >= _IMPLIED) & (counts[None, :] > 1.2 * counts[:, None]) & rare[None, :]
    np.fill_diagonal(fits, False)
    a, b = np.nonzero(fits)
    for pair in np.lexsort((-counts[a], -share[a, b])):
        i, j = a[pair], b[pair]
        names = (tagger.labels[columns[i]], tagger.labels[columns[j]])
        yield Finding(
            "implied",
            float(share[i, j]),
            (),
            names,
            f"{share[i, j]:.0%} of the {counts[i]:.0f} items with {names[0]} have {names[1]}.",
        )


def _broader(index: SemanticIndex, *, missing: bool) -> Iterator[Finding]:
    """Find items that differ from the others with a label: most have its broader label, or not."""
    table, vocabulary = index.store.labels, index.vocabulary
    if vocabulary is None:
        return
    found = []
    for low in table.totals:
        for high in vocabulary.directly_broader(low):
            if high in table.totals:
                rows = table.rows(low)
                both = np.isin(rows, table.rows(high))
                share = float(both.mean())
                # Where most items have both, the broader label belongs there.
                if (share >= 0.5) == missing and both.any() and not both.all():
                    odd = rows[~both] if missing else rows[both]
                    found.append((share if missing else 1 - share, low, high, odd, len(rows)))
    names = index.store.ids_by_row()
    kind: AuditKind = "broader_missing" if missing else "broader_too"
    for score, low, high, odd, count in sorted(found, key=lambda one: (-one[0], one[1], one[2])):
        also = "lack" if missing else "also have"
        yield Finding(
            kind,
            score,
            tuple(names[row] for row in odd.tolist()),
            (low, high),
            f"{odd.size:,} of the {count:,} items with {low} {also} {high}, which is broader.",
        )


def _unpredictable(tagger: Tagger) -> Iterator[Finding]:
    record = tagger.record
    for column in np.argsort(-record.support, kind="stable"):
        if record.support[column] >= _FEW and not record.right[column]:
            yield Finding(
                "unpredictable",
                1.0,
                (),
                (tagger.labels[column],),
                f"None of its {record.support[column]} items was found when left out.",
            )


def _junk(tagger: Tagger) -> Iterator[Finding]:
    for label, support in zip(tagger.labels, tagger.record.support, strict=True):
        if support and _JUNK.fullmatch(re.split(r"::|[:/]", label)[-1].strip()):
            yield Finding(
                "junk", 1.0, (), (label,), f"The name says nothing; {support} items have it."
            )


def _rare(tagger: Tagger, names: list[str]) -> Iterator[Finding]:
    labels = tagger.targets.tocsc()
    for column in np.flatnonzero(tagger.record.support == 1):
        own = labels[:, [column]].indices
        items = tuple(names[row] for row in own)
        yield Finding("rare", 1.0, items, (tagger.labels[column],), "Only one item has it.")


def _frequent(tagger: Tagger, least: int) -> Array:
    """Return the columns of the most frequent labels with some number of items."""
    order = np.argsort(-tagger.record.support, kind="stable")[:_MOST_LABELS]
    return np.sort(order[tagger.record.support[order] >= least])


def _centre(rows: Any, chosen: Array) -> Array:
    """Return the sum of some rows, scaled to length 1."""
    total = np.asarray(rows.T @ chosen.astype(rows.dtype))
    length = float(np.linalg.norm(total))
    return total / length if length > 0 else total


def _row(rows: Any, number: int) -> Array:
    return _dense(rows[[number]]).ravel()


def _dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
