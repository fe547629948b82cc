"""Quality of search on a corpus: known items and judged queries, for several systems.

- By title: the query is the first line of an item's text; the item should come first.
- By words: the query is five random words of the item, without frequent ones.
- Judged queries: texts with the grades of items, as judged by people.

TF-IDF compares the default features by cosine, LSI their truncated SVD, and BM25 the words of
the texts. The embedding, and words and embedding together, are ``search`` with ``balance`` 1 and
with its default.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, MissingData
from ..estimators import LSI, MLSI
from ..index import Item, SemanticIndex
from ..index.inputs import LabelLists, read_ids, read_label_lists, read_texts
from ..index.model import Space
from ..text import Analyzer, Vocabulary, WordSearch, WordSegment, detect_language, parse_query
from .measurements import Record, ReportTable, Results
from .text_features import learn_features

__all__ = [
    "JudgedQuery",
    "SearchEvaluation",
    "check_queries",
    "evaluate_search",
    "read_queries",
    "search_tables",
]

SYSTEMS = ("TF-IDF", "LSI", "BM25", "space", "words + space")
_WORDS_PER_QUERY = 5
_DEEPEST, _DEEP, _AT = 1000, 100, 10
_KINDS = {
    "title": (
        "Items found by their title",
        ("first", f"in {_AT}", "MRR"),
        "Fraction of items ranked first, and among the first ten, when searched by their "
        "title; mean reciprocal rank. Only unique titles are used.",
    ),
    "words": (
        "Items found by five of their words",
        ("first", f"in {_AT}", "MRR"),
        "Words chosen at random from the text of an item, without frequent ones.",
    ),
    "judged": (
        "Judged queries",
        (f"nDCG@{_AT}", "MAP", f"P@{_AT}", f"recall@{_DEEP}"),
        "Compared with the items that people judged relevant, as trec_eval does: nDCG by their "
        "grades, the others with every grade above 0 as relevant. Queries without a relevant item "
        "in the corpus, which trec_eval counts as 0, are left out.",
    ),
}


@dataclass(frozen=True)
class JudgedQuery:
    """A text, and grades of items by their ids: 0 is not relevant, larger ones are more so."""

    text: str
    grades: Mapping[str, float]


@dataclass(frozen=True)
class SearchEvaluation:
    """Results: a record for each query, kind of query and system; and notes about the queries."""

    results: Results
    notes: tuple[str, ...]


def read_queries(path: Path, qrels: Path | None = None) -> list[JudgedQuery]:
    """Read judged queries.

    ``path`` has a JSON object per line with ``query`` and ``relevant``, which is a list of ids, or
    an object with a grade for each id. With ``qrels``, the judgements are in that file, in the
    format of TREC (query, 0, item, grade), and ``path`` has ``id`` and ``query`` in each object,
    or an id, a tab and a text in each line. A query that is there twice counts once, and must have
    the same judgements.
    """
    judged = None if qrels is None else _read_qrels(qrels)
    found: dict[str, JudgedQuery] = {}
    for number, line in enumerate(_lines(path, "--queries"), start=1):
        if not line.strip():
            continue
        try:
            entry = _entry(line)
            text = entry["query"]
            given = entry["relevant"] if judged is None else judged.get(str(entry["id"]), {})
            pairs = given.items() if isinstance(given, dict) else [(one, 1) for one in given]
            grades = {str(name): _grade(grade) for name, grade in pairs}
            fine = isinstance(text, str) and bool(text.strip()) and isinstance(given, list | dict)
            fine = fine and all(isinstance(name, str | int) for name, _ in pairs)
            key = text if judged is None else str(entry["id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            fine = False
        if not fine:
            wanted = (
                "a text 'query' and 'relevant', a list of ids or an object with a grade for each"
                if judged is None
                else "'id' and a text 'query', or an id, a tab and the text"
            )
            raise InvalidFile(f"{path}, line {number}: a judged query is an object with {wanted}.")
        query = JudgedQuery(text, grades)
        if found.setdefault(key, query) != query:
            raise InvalidFile(
                f"{path}, line {number}: the query {key!r:.60} was there before, with other "
                "judgements or another text; give it once."
            )
    if not found:
        raise InvalidInput(f"{path} has no queries; give one JSON object per line.")
    if judged is not None and not found.keys() & judged.keys():
        seen = f"{path} has {min(found)!r:.40}, {qrels} {min(judged, default='')!r:.40}"
        raise InvalidInput(f"No query has judgements; give both files the same ids: {seen}.")
    return list(found.values())


def check_queries(queries: Sequence[JudgedQuery], ids: Sequence[str]) -> None:
    """Raise an error if no query has a relevant item in a corpus with these ids."""
    wanted = [name for query in queries for name, grade in query.grades.items() if grade > 0]
    if queries and set(wanted).isdisjoint(ids):
        here = f", which has {ids[0]!r:.40}, but no {wanted[0]!r:.40}" if wanted else ""
        raise InvalidInput(
            f"No query has a relevant item in the corpus{here}; give the ids of its items in the "
            "judgements, and a grade above 0 to relevant ones."
        )


def _grade(given: Any) -> float:
    grade = float(given)
    if not math.isfinite(grade):
        raise ValueError
    return grade


def _entry(line: str) -> Any:
    if line.lstrip().startswith("{"):
        return json.loads(line, object_pairs_hook=_object)
    name, _, text = line.partition("\t")
    return {"id": name.strip(), "query": text.strip()} if text.strip() else {}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its parts; raise an error if one is there twice with different values."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if made.setdefault(name, value) != value:
            raise ValueError(name)
    return made


def _read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """Read the judgements of each query from a file in the format of TREC."""
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_lines(path, "--qrels"), start=1):
        if not line.strip():
            continue
        try:
            # Between tabs, ids may have blanks.
            query, _, item, given = line.split("\t") if line.count("\t") == 3 else line.split()
            grade, grades = _grade(given), found.setdefault(query.strip(), {})
        except ValueError:
            raise InvalidFile(
                f"{path}, line {number}: a judgement is a query, 0, an item and a grade, "
                "separated by blanks."
            ) from None
        if grades.setdefault(item.strip(), grade) != grade:
            raise InvalidFile(f"{path}, line {number}: {item.strip()!r:.60} has two grades.")
    return found


def _lines(path: Path, option: str) -> list[str]:
    try:
        # Texts may have other line breaks, such as those of U+2028.
        return path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise MissingData(f"There is no file {str(path)!r}; correct {option}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path} cannot be read: {error}.") from error


def evaluate_search(
    texts: Any,
    labels: Any,
    ids: Any,
    *,
    queries: Sequence[JudgedQuery] = (),
    known_items: int = 200,
    dimensions: int = 100,
    progress: Callable[[int, int], None] | None = None,
) -> SearchEvaluation:
    """Search for known items and judged queries with TF-IDF, LSI, BM25, the embedding, and both.

    ``known_items`` are searched for by title and by words; 0 skips this. ``progress`` is called
    with the number of completed steps and the total number of steps.

    Examples
    --------
    >>> from labelspan.evaluation.search_quality import JudgedQuery, evaluate_search
    >>> texts = ["a chess game", "photo of a tree", "a song to sing", "chess rules"] * 5
    >>> labels = [["game"], ["image"], ["sound"], ["game"]] * 5
    >>> asked = [JudgedQuery("chess", {"0": 2, "3": 1})]
    >>> ids = [str(n) for n in range(20)]
    >>> found = evaluate_search(texts, labels, ids, queries=asked, known_items=0, dimensions=3)
    >>> round(found.results.only(system="BM25").mean("P@10"), 1)
    0.2
    """
    given = read_texts(texts, "evaluate")
    lists = read_label_lists(labels, len(given), "evaluate")
    names = read_ids(ids, len(given), "evaluate")
    check_queries(queries, names)
    items = [Item(*parts, {}) for parts in zip(names, given, lists, strict=True)]
    analyzer = Analyzer(detect_language(given))
    asked, notes = _queries(items, queries, analyzer, known_items)
    total = len(SYSTEMS)
    systems = _systems(items, lists, analyzer.language, dimensions)
    records: list[Record] = []
    for done, (system, search) in enumerate(systems, start=1):
        for kind, text, grades in asked:
            start = time.perf_counter()
            found = search(text, _DEEPEST if kind == "judged" else _AT)
            took = time.perf_counter() - start
            measures = _measures(kind, found, grades)
            records.append({"system": system, "kind": kind, **measures, "ms": 1000 * took})
        if progress is not None:
            progress(done, total)
    return SearchEvaluation(Results(records), tuple(notes))


def _queries(
    items: Sequence[Item],
    judged: Sequence[JudgedQuery],
    analyzer: Analyzer,
    count: int,
) -> tuple[list[tuple[str, str, Mapping[str, float]]], list[str]]:
    """Sample queries for known items, and select the judged queries whose items exist."""
    rng = np.random.default_rng(0)
    known = {item.id for item in items}
    asked: list[tuple[str, str, Mapping[str, float]]] = []
    notes: list[str] = []
    keys: dict[str, list[Item]] = {}
    for item in items:
        first = next((line for line in item.text.splitlines() if line.strip()), "")
        keys.setdefault(analyzer.key(first), []).append(item)
    titled = [own[0] for key, own in keys.items() if key and len(own) == 1]
    if count and titled:
        chosen = [titled[n] for n in sorted(rng.permutation(len(titled))[:count])]
        for item in chosen:
            first = next(line for line in item.text.splitlines() if line.strip())
            asked.append(("title", first.strip(), {item.id: 1}))
        for item in chosen:
            words = [word for word, _, common in analyzer.query(item.text) if not common]
            words = sorted(set(words))
            if len(words) >= 2:
                some = [words[n] for n in rng.permutation(len(words))[:_WORDS_PER_QUERY]]
                asked.append(("words", " ".join(some), {item.id: 1}))
    for query in judged:
        if any(grade > 0 and name in known for name, grade in query.grades.items()):
            asked.append(("judged", query.text, query.grades))
    left = len(judged) - sum(kind == "judged" for kind, *_ in asked)
    if left:
        notes.append(
            f"{left} of {len(judged)} judged queries have no relevant item in the corpus and were "
            "left out."
        )
    absent = len({name for query in judged for name in query.grades} - known)
    if absent:
        notes.append(
            f"{absent:,} judged items are not in the corpus; relevant ones count as not found."
        )
    if not asked:
        raise InvalidInput("evaluate: there is nothing to search for; pass texts or --queries.")
    return asked, notes


def _systems(
    items: Sequence[Item], lists: LabelLists, language: str, dimensions: int
) -> list[tuple[str, Callable[[str, int], list[str]]]]:
    """Return a function for each system that returns the ids of the best items for a text."""
    texts = [item.text for item in items]
    names = [item.id for item in items]
    ids = np.array(names, dtype=object)
    chosen, features = learn_features(texts)
    most = max(1, min(dimensions, features.shape[0] - 1, features.shape[1]))
    lsi = Space.of(LSI(most).fit(features))
    labelled = any(own for own in lists)
    index = SemanticIndex(estimator=MLSI(most) if labelled else LSI(most), language=language)
    index.fit(texts, lists, names)
    flat = lsi.vectors(features)
    vocabulary = Vocabulary(language)
    # Without titles and label names, which are weighted differently from words of the text.
    block = vocabulary.number(texts)
    plain = WordSearch(
        vocabulary, [WordSegment.build(replace(block, titles=np.zeros_like(block.titles)))]
    )

    def by_features(text: str, k: int) -> list[str]:
        products = features @ chosen.of_texts([text]).T
        return _best(ids, np.asarray(products.todense()).ravel(), k)

    def by_lsi(text: str, k: int) -> list[str]:
        return _best(ids, flat @ lsi.vectors(chosen.of_texts([text]))[0], k)

    def by_words(text: str, k: int) -> list[str]:
        return _best(ids, plain.score(parse_query(text)).scores, k)

    def by_search(balance: float | None) -> Callable[[str, int], list[str]]:
        def find(text: str, k: int) -> list[str]:
            return [hit.id for hit in index.search(text, k, balance=balance)]

        return find

    found: Mapping[str, Callable[[str, int], list[str]]] = {
        "TF-IDF": by_features,
        "LSI": by_lsi,
        "BM25": by_words,
        "space": by_search(1.0),
        "words + space": by_search(None),
    }
    return [(name, found[name]) for name in SYSTEMS]


def _best(ids: Array, scores: Array, k: int) -> list[str]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [str(ids[row]) for row in order if scores[row] > 0]


def _measures(kind: str, found: Sequence[str], grades: Mapping[str, float]) -> Record:
    """Measure a list of results, best first, by the grades of the relevant items."""
    gains = np.maximum([grades.get(name, 0) for name in found], 0)
    if kind == "judged":
        best = np.sort([grade for grade in grades.values() if grade > 0])[::-1]
        places = np.flatnonzero(gains > 0) + 1
        return {
            f"nDCG@{_AT}": _discounted(gains[:_AT]) / _discounted(best[:_AT]),
            "MAP": float((np.arange(1, len(places) + 1) / places).sum()) / len(best),
            f"P@{_AT}": float((places <= _AT).sum()) / _AT,
            f"recall@{_DEEP}": float((places <= _DEEP).sum()) / len(best),
        }
    place = int(np.argmax(gains)) + 1 if gains.any() else None
    return {
        "first": float(place == 1),
        f"in {_AT}": float(place is not None),
        "MRR": 0.0 if place is None else 1 / place,
    }


def _discounted(gains: Array) -> float:
    return float(np.sum(gains / np.log2(np.arange(len(gains)) + 2)))


def search_tables(evaluation: SearchEvaluation) -> list[ReportTable]:
    """Create a table for each kind of query."""
    made = []
    for kind, (title, measures, note) in _KINDS.items():
        here = evaluation.results.only(kind=kind)
        systems = here.distinct("system")
        if not systems:
            continue
        rows = []
        for system in systems:
            found = here.only(system=system)
            cells = [f"{found.mean(name):.3f}" for name in measures]
            rows.append((str(system), *cells, f"{found.mean('ms'):.1f}"))
        count = len(here.only(system=systems[0]))
        head = ("system", *measures, "ms")
        made.append(ReportTable(f"{title} ({count} queries)", head, rows, note))
    return made
