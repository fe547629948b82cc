"""Links between items next to the words: tags, neighbours and search with and without them.

    python -m benchmarks.links [cora] [cacm] [debtags] [notes] [cost]

Half of the items (cora: 95, 80 and 40%) have no label for the fit and are judged, by tags (nDCG@5),
by the labels of their ten nearest items, and on CACM by the queries of the development half.
Compared on cora: indexes with DLE and LPP, whose graph the links are, the harmonic function and
label propagation on the links. One record per line is printed.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from labelspan import DLE, LPP, SemanticIndex
from labelspan.datasets import data_home
from labelspan.index.links import LinkGraph

# Labelled items of the sample of debtags, and queries whose neighbours are looked at.
_DEBTAGS, _ASKED = 6000, 600


def ndcg(found: list[str], wanted: set[str], depth: int = 5) -> float:
    """Return the gain of a list over the best possible one."""
    gains = 1 / np.log2(np.arange(depth) + 2)
    own = sum(gain for gain, one in zip(gains, found, strict=False) if one in wanted)
    return float(own / gains[: min(depth, len(wanted))].sum()) if wanted else 0.0


def quality(
    texts: list[str], labels: list[Any], links: Any, known: np.ndarray, **settings: Any
) -> dict[str, Any]:
    """Fit an index with some labels, and judge tags and neighbours of the other items."""
    start = time.process_time()
    given = [own if some else None for own, some in zip(labels, known, strict=True)]
    index = SemanticIndex(**settings).fit(texts, given, links=links)
    seconds = time.process_time() - start
    held = np.flatnonzero(~known)
    held = held[[bool(labels[row]) for row in held]]
    if held.size > _ASKED:
        held = np.sort(np.random.default_rng(0).choice(held, _ASKED, replace=False))
    tags = index.tag(items=[str(row) for row in held], k=5)
    own = [set(labels[row]) for row in held]
    best = [[tag.label for tag in found] for found in tags]
    near = [
        np.mean(
            [
                len(wanted & set(labels[int(hit.id)]))
                / max(1, len(wanted | set(labels[int(hit.id)])))
                for hit in index.search(items=str(row), k=10)
            ]
            or [0.0]
        )
        for row, wanted in zip(held, own, strict=True)
    ]
    vectors = index.vectors()
    votes = {}
    for row in held.tolist() if held.size < len(labels) else ():
        near_known = np.flatnonzero(known)[np.argsort(-(vectors[known] @ vectors[row]))[:10]]
        counts = Counter(labels[one][0] for one in near_known if labels[one])
        votes[row] = counts.most_common(1)[0][0] in labels[row]
    return {
        "vote": float(np.mean([*votes.values()])),
        "accuracy": float(
            np.mean([one[:1] != [] and one[0] in w for one, w in zip(best, own, strict=True)])
        ),
        "nDCG@5": float(np.mean([ndcg(one, w) for one, w in zip(best, own, strict=True)])),
        "neighbours": float(np.mean(near)),
        "seconds": round(seconds, 1),
        "used": {name: index.link_use.get(f"in_{name}", False) for name in ("space", "tags")},
    }


def both(texts: list[str], labels: list[Any], links: Any, known: np.ndarray, **more: Any) -> Any:
    """Yield a record without links, and one with them."""
    for name, given in (("words", None), ("words and links", links)):
        yield {**more, "method": name, **quality(texts, labels, given, known)}


def cora() -> Iterator[dict[str, Any]]:
    """Yield records of 2,708 papers of seven classes, the test items of three shares."""
    z = np.load(data_home() / "cora.npz")
    parts = z["X_data"], z["X_indices"], z["X_indptr"]
    words, y = sparse.csr_matrix(parts, shape=z["X_shape"]), z["y"]
    n = words.shape[0]
    ones = np.ones(z["links_indices"].size)
    links = sparse.csr_matrix((ones, z["links_indices"], z["links_indptr"]), shape=(n, n))
    graph = sparse.csr_matrix(links.maximum(links.T))
    texts = [" ".join(f"w{j}x" for j in words[row].indices) for row in range(n)]
    labels = [[f"class {one}"] for one in y]
    for share in (0.05, 0.2, 0.6):
        for seed in range(2):
            known = np.zeros(n, dtype=bool)
            known[np.random.default_rng(seed).permutation(n)[: int(share * n)]] = True
            about = {"set": "cora", "labelled": share, "seed": seed}
            yield from both(texts, labels, links, known, **about)
            for name, estimator in (("DLE", DLE()), ("LPP(60)", LPP(60))):
                found = quality(texts, labels, links, known, estimator=estimator)
                yield {**about, "method": f"{name}, words and links", **found}
            targets = np.where(known, y, -1)
            for name, compute in others(graph, targets, known, y).items():
                start = time.process_time()
                found = compute()
                right = float((found[~known] == y[~known]).mean())
                seconds = round(time.process_time() - start, 1)
                yield {**about, "method": name, "accuracy": right, "seconds": seconds}


def others(
    graph: Any, targets: np.ndarray, known: np.ndarray, y: np.ndarray
) -> dict[str, Callable[[], np.ndarray]]:
    """Return what joins only links and labels."""
    classes = np.unique(y[known])
    one_hot = (targets[:, None] == classes).astype(float)
    degree = np.asarray(graph.sum(axis=1)).ravel()

    def harmonic() -> np.ndarray:
        laplacian = sparse.csr_matrix(sparse.diags(degree + 1e-9) - graph)
        found = one_hot.copy()
        side = -laplacian[~known][:, known] @ one_hot[known]
        found[~known] = spsolve(laplacian[~known][:, ~known].tocsc(), side)
        return classes[found.argmax(axis=1)]

    def propagation() -> np.ndarray:
        scale = sparse.diags(1 / np.sqrt(np.maximum(degree, 1)))
        system = sparse.identity(len(y)) - 0.99 * scale @ graph @ scale
        return classes[np.asarray(spsolve(system.tocsc(), one_hot)).argmax(axis=1)]

    return {
        "harmonic function, links": harmonic,
        "label propagation, links": propagation,
    }


def lines(name: str) -> list[dict[str, Any]]:
    """Read a file of JSON lines of the public collections."""
    path = data_home() / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


def cacm() -> Iterator[dict[str, Any]]:
    """Yield records of the search on CACM, of the development half of its queries."""
    items, queries = lines("corpora/cacm.jsonl.gz"), lines("corpora/cacm_queries.jsonl")
    with (data_home() / "corpora" / "cacm_links.csv").open() as file:
        pairs = list(csv.reader(file))[1:]
    links: dict[str, list[str]] = {}
    for start, end in pairs:
        links.setdefault(start, []).append(end)
    ids = [one["id"] for one in items]
    texts = [f"{one['title']}\n\n{one['abstract'] or ''}".strip() for one in items]
    labels = [one["keywords"] or one["categories"] for one in items]
    labels = [own.split("; ") if isinstance(own, str) else own for own in labels]
    for name, given in (("words", None), ("words and links", [links.get(one, []) for one in ids])):
        index = SemanticIndex().fit(texts, labels, ids, links=given)
        found: dict[str, list[float]] = {"search": [], "space": []}
        for one in queries:
            wanted = set(map(str, one["relevant"]))
            for what, balance in (("search", None), ("space", 1.0)):
                hits = index.search(one["query"], 10, balance=balance)
                found[what].append(ndcg([hit.id for hit in hits], wanted, 10))
        told = {f"nDCG@10 {what}": float(np.mean(own)) for what, own in found.items()}
        use = index.link_use
        yield {
            "set": "CACM, development",
            "method": name,
            **told,
            "used": {what: use.get(f"in_{what}", False) for what in ("space", "tags")},
        }


def debtags() -> Iterator[dict[str, Any]]:
    """Yield records of packages, linked if they are of the same source; half of them labelled."""
    items = [one for one in lines("debtags.jsonl.gz") if one["tags"]]
    some = np.sort(np.random.default_rng(0).choice(len(items), _DEBTAGS, replace=False))
    items = [items[row] for row in some]
    texts = [f"{one['summary']}\n\n{one['description']}" for one in items]
    sources: dict[str, list[int]] = {}
    for row, one in enumerate(items):
        sources.setdefault(one["source"], []).append(row)
    links = [
        [str(other) for other in sources[one["source"]][:50] if other != row]
        for row, one in enumerate(items)
    ]
    known = np.random.default_rng(1).random(len(items)) < 0.5
    labels = [one["tags"] for one in items]
    yield from both(texts, labels, links, known, set="debtags, same source", labelled=0.5)


def notes() -> Iterator[dict[str, Any]]:
    """Yield records of synthetic notes: short, some words of their topics, links mostly within."""
    rng = np.random.default_rng(0)
    count, topics = 900, 12
    own = [[f"topic{t}word{n}" for n in range(40)] for t in range(topics)]
    common = [f"common{n}" for n in range(300)]
    of = rng.integers(topics, size=count)
    texts = [" ".join([*rng.choice(own[t], 2), *rng.choice(common, 10)]) for t in of]
    links = []
    for t in of:
        inside = rng.choice(np.flatnonzero(of == t), 3).tolist()
        links.append([str(one) for one in (*inside, int(rng.integers(count)))])
    labels = [[f"topic {t}"] for t in of]
    known = rng.random(count) < 0.3
    yield from both(texts, labels, links, known, set="vault of synthetic notes", labelled=0.3)


def cost() -> Iterator[dict[str, Any]]:
    """Yield CPU seconds of fits with five links per item, and of a million links."""
    items = lines("debtags.jsonl.gz")[:_DEBTAGS]
    texts = [f"{one['summary']}\n\n{one['description']}" for one in items]
    labels = [one["tags"] or None for one in items]
    rng = np.random.default_rng(0)
    links = [[str(one) for one in rng.integers(len(items), size=5)] for _ in items]
    for name, given in (("words", None), ("words and links", links)):
        start = time.process_time()
        SemanticIndex().fit(texts, labels, links=given)
        yield {
            "set": "debtags, 5 random links per item",
            "method": name,
            "items": len(items),
            "seconds": round(time.process_time() - start, 1),
        }
    count = 200_000
    start = time.process_time()
    ends = rng.integers(count, size=5 * count), rng.integers(count, size=5 * count)
    graph = LinkGraph(count, (*ends, np.ones(5 * count)))
    rows = rng.standard_normal((count, 128), dtype=np.float32)
    graph.averages(rows.__getitem__, np.arange(count))
    seconds = round(time.process_time() - start, 1)
    yield {"set": "a million links, 200,000 items", "method": "averages", "seconds": seconds}


def main() -> None:
    """Print the records of some sets, by default of all."""
    sets = {"cora": cora, "cacm": cacm, "debtags": debtags, "notes": notes, "cost": cost}
    for name in sys.argv[1:] or list(sets):
        for record in sets[name]():
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
