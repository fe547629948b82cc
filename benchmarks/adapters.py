"""Vectors of a model in fewer dimensions: the adapter, PCA, other maps and a trained one.

Sets: sentence embeddings of Debian packages (all-MiniLM-L6-v2, 384 dimensions, in ``examples``; a
development set), usps (256 pixels; a development set) and mediamill (120 features of pictures). A
third of the labels is hidden from every map. Maps are fitted on training rows; each test row looks
for its ten nearest training rows by cosine.

Seconds are CPU time of one thread, choices and comparisons included.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSSVD
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import normalize

from labelspan import Adapter
from labelspan.datasets import card, load_debtags
from labelspan.metrics import f1_scores, retrieval_at_k, threshold_by_share

from .data import load
from .harness import Report, Row, make_parser

SETS = ("minilm", "usps", "mediamill")
SIZES = (8, 16, 32, 64, 128, 256)
ROWS = (100, 300, 1000, 3000)
_MOST_TEST, _MOST_ITEMS, _MOST_TAGGED, _NCA_ROWS = 600, 5000, 2000, 800
EMBEDDINGS = Path(__file__).parents[1] / "examples" / "data" / "debtags_minilm.npz"

Array = np.ndarray[Any, Any]


@dataclass
class Task:
    """Vectors and labels of training and test rows; which labels are hidden."""

    name: str
    X: Array
    Y: Array
    X_test: Array
    Y_test: Array
    hidden: Array
    classes: bool = False

    @property
    def seen(self) -> Array:
        """Labels that maps are fitted with."""
        return self.Y[:, ~self.hidden]


# --- data -------------------------------------------------------------------------------


def load_task(name: str, folder: str | None, seed: int) -> Task:
    """Load a set, split its rows, and hide a third of its labels."""
    rng = np.random.default_rng(seed)
    if name == "minilm":
        stored = np.load(EMBEDDINGS)
        assert str(stored["corpus"]) == card("debtags").sha256
        corpus = load_debtags().take(stored["rows"])
        X, Y = normalize(stored["codes"].astype(np.float32)), corpus.Y.toarray()
        train, test = np.flatnonzero(corpus.train), np.flatnonzero(corpus.test)
    else:
        data = load(name, folder)
        X = np.asarray(data.X, dtype=np.float32)
        Y = np.eye(10)[data.y - data.y.min()] if data.Y is None else data.Y
        order = rng.permutation(X.shape[0])
        cut = X.shape[0] * 4 // 5
        train, test = order[:cut], order[cut:]
    test = rng.permutation(test)[:_MOST_TEST]
    kept = (Y[train].sum(axis=0) >= 10) & (Y[test].sum(axis=0) >= 1)
    Y = Y[:, kept].astype(np.int8)
    order = rng.permutation(Y.shape[1])
    hidden = np.isin(np.arange(Y.shape[1]), order[: Y.shape[1] // 3])
    return Task(name, X[train], Y[train], X[test], Y[test], hidden, classes=name == "usps")


# --- maps -------------------------------------------------------------------------------

# A map takes vectors to places; the second, if any, is for items with known labels.
Map = Callable[[Array], Array]


def pca(task: Task, size: int, labelled: Array) -> Map:
    """Principal components of all training rows."""
    return PCA(size, random_state=0).fit(task.X).transform


def truncated(task: Task, size: int, labelled: Array) -> Map:
    """The first columns, as models are cut that were trained for it."""
    return lambda X: X[:, :size]


def supervised(task: Task, size: int, labelled: Array) -> Map | None:
    """LDA for classes, PLS for several labels; at most as many axes as they have."""
    X, Y = task.X[labelled], task.seen[labelled]
    if task.classes:
        some = Y.any(axis=1)
        if size > Y.shape[1] - 1:
            return None
        lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto", n_components=size)
        return lda.fit(X[some], Y[some].argmax(axis=1)).transform
    Y = Y[:, Y.any(axis=0)]
    if size > min(X.shape[1], Y.shape[1], X.shape[0]):
        return None
    return PLSSVD(size, scale=False).fit(X, Y).transform


def nca(task: Task, size: int, labelled: Array) -> Map:
    """Neighbourhood components, on a part of the rows; the rarest label of a row is its class."""
    rows = labelled[:_NCA_ROWS]
    X, Y = task.X[rows], task.seen[rows]
    rarity = np.where(Y > 0, 1.0 / np.maximum(Y.sum(axis=0), 1), 0.0)
    classes = np.where(Y.any(axis=1), rarity.argmax(axis=1), -1)
    model = NeighborhoodComponentsAnalysis(size, init="pca", max_iter=15, random_state=0)
    return model.fit(X, classes).transform


def trained(task: Task, size: int, labelled: Array) -> Map:
    """A linear layer trained by Adam on a contrastive loss, the best epoch by held-out rows.

    Starts from PCA. Every other row of a batch is a positive as far as it shares labels (Jaccard
    index): the usual supervised contrastive loss, for several labels.
    """
    import torch  # noqa: PLC0415 - optional

    torch.manual_seed(0)
    torch.set_num_threads(1)
    start = PCA(size, random_state=0).fit(task.X)
    layer = torch.nn.Linear(task.X.shape[1], size)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(start.components_))
        layer.bias.copy_(torch.as_tensor(-start.components_ @ start.mean_))
    rows = labelled[task.seen[labelled].any(axis=1)]
    cut = max(1, rows.size // 10)
    X = torch.as_tensor(task.X)
    Y = torch.as_tensor(task.seen.astype(np.float32))
    optimiser = torch.optim.Adam(layer.parameters(), lr=1e-3, weight_decay=1e-5)
    rng = np.random.default_rng(0)

    def loss_of(part: Array) -> Any:
        Z = torch.nn.functional.normalize(layer(X[part]), dim=1)
        near = Z @ Z.T / 0.07
        near.fill_diagonal_(-1e9)
        labels = Y[part]
        shared = labels @ labels.T
        size_of = labels.sum(dim=1)
        overlap = shared / (size_of[:, None] + size_of - shared).clamp(min=1)
        overlap.fill_diagonal_(0)
        weights = overlap / overlap.sum(dim=1, keepdim=True).clamp(min=1e-9)
        return -(weights * torch.log_softmax(near, dim=1)).sum(dim=1).mean()

    best: tuple[float, Any] = (np.inf, None)
    waited = 0
    for _ in range(60):
        order = rng.permutation(rows[cut:])
        for at in range(0, order.size, 256):
            part = order[at : at + 256]
            if part.size < 8:
                continue
            optimiser.zero_grad()
            loss_of(part).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(loss_of(rows[: min(cut, 1000)]))
        if loss < best[0] - 1e-4:
            best, waited = (loss, {k: v.clone() for k, v in layer.state_dict().items()}), 0
        else:
            waited += 1
            if waited == 5:
                break
    layer.load_state_dict(best[1])
    weight, bias = (values.detach().numpy() for values in (layer.weight, layer.bias))
    return lambda rows: rows @ weight.T + bias


def adapted(task: Task, size: int, labelled: Array, **options: Any) -> tuple[Map, Map]:
    """The adapter; rows that are not labelled count by their vectors."""
    Y = np.full(task.seen.shape, -1, dtype=np.int8)
    Y[labelled] = task.seen[labelled]
    model = Adapter(size, **options).fit(task.X, Y)
    return model.transform, lambda X: model.transform(X, labels=Y)


# --- measures ---------------------------------------------------------------------------


def judge(
    task: Task, places: Map, items: Map | None = None, *, hidden: bool = True
) -> dict[str, float]:
    """NDCG and label Jaccard of neighbours, seen and hidden, and macro F1 of a ridge tagger."""
    rng = np.random.default_rng(0)
    some = rng.permutation(task.X.shape[0])[:_MOST_ITEMS]
    base = (items or places)(task.X)[some]
    queries = places(task.X_test)
    out: dict[str, float] = {}
    for name, columns in (("seen", ~task.hidden), ("hidden", task.hidden)):
        if name == "hidden" and not hidden:
            continue
        Q, T = task.Y_test[:, columns], task.Y[some][:, columns]
        asked = Q.any(axis=1)
        found = retrieval_at_k(queries[asked], Q[asked], base, T)
        out[f"nDCG, {name}"] = found.ndcg
        if name == "seen":
            out["Jaccard, seen"] = found.jaccard
    if items is None:
        some = some[:_MOST_TAGGED]
        Z, Z_test = normalize(places(task.X[some])), normalize(queries)
        T = task.seen[some].astype(float)
        model = RidgeCV(np.geomspace(1e-2, 1e2, 5)).fit(Z, T)
        scores = model.predict(Z_test)
        given = scores > threshold_by_share(scores, T.mean(axis=0))
        out["macro F1, seen"] = f1_scores(task.Y_test[:, ~task.hidden], given).macro
    return out


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the CPU seconds that it took."""
    start = time.process_time()
    return run(), time.process_time() - start


def lines(task: Task, size: int, labelled: Array, slow: bool) -> Iterator[Row]:
    """One row for each map."""
    makers: dict[str, Callable[[], Any]] = {
        "PCA": lambda: pca(task, size, labelled),
        "first columns": lambda: truncated(task, size, labelled),
        "LDA" if task.classes else "PLS": lambda: supervised(task, size, labelled),
    }
    if slow:
        makers["NCA"] = lambda: nca(task, size, labelled)
        makers["trained"] = lambda: trained(task, size, labelled)
    for name, make in makers.items():
        places, seconds = timed(make)
        if places is not None:
            yield Row(name, (seconds,), notes=judge(task, places), group=str(size))
    (places, items), seconds = timed(lambda: adapted(task, size, labelled))
    yield Row("Adapter", (seconds,), notes=judge(task, places), group=str(size))
    notes = judge(task, places, items)
    yield Row("Adapter, items by labels", (seconds,), notes=notes, group=str(size))
    if slow:
        (places, _), seconds = timed(lambda: adapted(task, size, labelled, compare=False, beta=0.3))
        notes = judge(task, places)
        yield Row("Adapter, compare=False", (seconds,), notes=notes, group=str(size))


PAGE = Path(__file__).parents[1] / "results" / "adapters.md"
RECORD = Path(__file__).parents[1] / "results" / "records" / "adapters.json"
_COLUMNS = ("nDCG, seen", "nDCG, hidden", "Jaccard, seen", "macro F1, seen")


def write_page(results: list[Path]) -> None:
    """Write the tables of runs into the documentation, and its numbers into a record."""
    runs = [json.loads(result.read_text(encoding="utf-8")) for result in results]
    machine = runs[0]["machine"]
    text = [PAGE.read_text(encoding="utf-8").partition("<!-- tables -->")[0] + "<!-- tables -->\n"]
    text.append(f"{machine['cpu']}, {machine['cores']} cores, {runs[0]['date'][:10]}.\n")
    record: dict[str, Any] = {"version": machine["packages"]["labelspan"]}
    for table in [table for run in runs for table in run["tables"]]:
        text.append(f"## {table['title'].partition(':')[0]}{table['title'].partition(';')[2]}\n")
        text.append(f"{table['title'].partition(';')[0]}.\n")
        text.append("| | | CPU seconds | " + " | ".join(_COLUMNS) + " |")
        text.append("| --- " * (3 + len(_COLUMNS)) + "|")
        name = table["title"].partition(":")[0]
        for row in table["rows"]:
            cells = [row["notes"].get(column) for column in _COLUMNS]
            shown = ["" if cell is None else f"{cell:.3f}" for cell in cells]
            seconds = "" if row["median"] is None else f"{row['median']:.2g}"
            text.append(f"| {row['name']} | {row['group']} | {seconds} | {' | '.join(shown)} |")
            slug = row["name"].replace(",", "").replace(" ", "-")
            place = record.setdefault(name, {}).setdefault(row["group"].partition(" ")[0], {})
            if "labelled" in row["group"]:
                place = place.setdefault("labelled", {})
            place[slug] = {"seconds": row["median"]} | {
                column.replace(", ", "-").replace(" ", "-"): cell
                for column, cell in zip(_COLUMNS, cells, strict=True)
            }
        text.append("")
    PAGE.write_text("\n".join(text), encoding="utf-8")
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(args: argparse.Namespace) -> None:
    """One table by number of dimensions for each set, and one by number of labelled rows."""
    if args.page is not None:
        write_page(args.page)
        return
    report = Report("adapters", args)
    sizes = (16, 64) if args.quick else SIZES
    for name in args.sets:
        task = load_task(name, args.data, args.seed)
        n, columns = task.X.shape
        labelled = np.random.default_rng(args.seed).permutation(n)
        about = f"{name}: {n} x {columns}, {(~task.hidden).sum()} labels seen, "
        about += f"{task.hidden.sum()} hidden, {task.X_test.shape[0]} test rows"
        print(about, file=sys.stderr)
        rows = [Row("as they are", notes=judge(task, lambda X: X), group=str(columns))]
        for size in sizes:
            if size <= columns:
                rows += lines(task, size, labelled, slow=size == 64)
        report.add(f"{about}; by dimensions", rows)
        if name == "minilm":
            rows = []
            for count in [count for count in ROWS if count < n] if not args.quick else [300]:
                rows += [
                    Row(row.name, row.runs, notes=row.notes, group=f"{count} labelled")
                    for row in lines(task, 64, labelled[:count], slow=True)
                    if row.name not in ("NCA", "first columns")
                ]
            report.add(f"{about}; by labelled rows, 64 dimensions", rows)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument(
        "--page", type=Path, nargs="+", help="write the tables of these results into the docs"
    )
    main(parser.parse_args())
