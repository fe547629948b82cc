"""After any sequence of changes an index answers as one that is made from its items as they are."""

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from _support.explorer import explore, read_points
from _support.topics import corpus
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from labelspan import MLSI, SemanticIndex
from labelspan.curation import Review
from labelspan.display.map_data import draw_points
from labelspan.errors import InvalidInput
from labelspan.export import export_file

TEXTS = ["a chess game", "Chess\nfor two players", "a photo of a song", "", "zyzzyva", "dice dice"]
NEW = [f"new{n}" for n in range(5)]
IDS = [f"item{n}" for n in range(12)] + NEW
LABELS = ["game", "image", "sound", "fresh", "café"]
QUERIES = ["chess player", "photo", "fresh zyzzyva", '"chess game"', "song -photo"]
lists = st.one_of(st.none(), st.lists(st.sampled_from(LABELS), unique=True, max_size=3))
ids = st.sampled_from(IDS)
labels = st.sampled_from(LABELS)


@pytest.fixture(scope="module", autouse=True)
def original(tmp_path_factory):
    """The index that every sequence starts from, in a space that no change moves."""
    texts, own, names, metadata = corpus(24)
    path = tmp_path_factory.mktemp("machine") / "index"
    SemanticIndex(estimator=MLSI(4)).fit(texts, own, names, metadata=metadata).save(path)
    Changes.original = path
    return path


def made_from(original, items):
    """An index of these items in the space of the original."""
    with SemanticIndex.load(original, write=True) as index:
        index.remove(index.ids)
        columns = [[getattr(one, name) for one in items] for name in ("text", "labels", "id")]
        index.add(*columns, metadata=[one.metadata for one in items])
        copy = tempfile.mkdtemp(dir=original.parent)
        index.save(copy)
    return Path(copy)


def hits(index, **asked):
    return {hit.id: round(hit.score, 5) for hit in index.search(k=40, **asked)}


def answers(index):
    """What an index says, by ids, and without the order of equal scores."""
    found = {"items": sorted((i.id, i.text, i.labels, str(i.metadata)) for i in index.items())}
    found["labels"] = index.labels
    found["words"] = [hits(index, query=query, balance=0) for query in QUERIES]
    found["both"] = [hits(index, query=query) for query in QUERIES]
    found["like"] = [hits(index, items=name) for name in index.ids[:3]]
    found["label"] = [hits(index, labels=name) for name in index.labels]
    listed = index.browse("chess", {"without": [*index.labels][:1]})
    found["browse"] = (listed.total, sorted(listed.ids))
    found["counts"] = listed.label_counts()
    found["tree"] = [(node.label, node.total) for node in index.label_tree()]
    found["fields"] = index.fields()
    return found


def tags(index):
    return [
        {tag.label: tag.probability for tag in own}
        for own in index.tag(["chess", "a photo", "song"], k=9)
    ]


class Changes(RuleBasedStateMachine):
    """An index in a folder, changed in every way, beside a plain list of what it must hold."""

    original: Path

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.original.parent)) / "index"
        shutil.copytree(self.original, self.folder)
        self.index = SemanticIndex.load(self.folder, write=True)
        self.review = Review(self.index)
        self.held = {item.id: (item.text, item.labels) for item in self.index.items()}
        # What each decision that can be undone changed: the labels before and after.
        self.decided = []

    def teardown(self):
        if hasattr(self, "index"):
            try:
                self.compare()
            finally:
                self.index.close()
                shutil.rmtree(self.folder.parent)

    # --- changes ----------------------------------------------------------------------

    @rule(name=ids, text=st.sampled_from(TEXTS), own=lists)
    def add(self, name, text, own):
        if name in self.held:
            with pytest.raises(InvalidInput, match="already in the index"):
                self.index.add([text], [own], [name])
            return
        self.index.add([text], [own], [name])
        self.held[name] = text, None if own is None else tuple(sorted(own))

    @rule(name=ids, text=st.sampled_from(TEXTS), own=lists)
    def replace(self, name, text, own):
        self.index.add([text], [own], [name], replace=True)
        self.held[name] = text, None if own is None else tuple(sorted(own))

    @rule(name=ids, own=lists)
    def relabel(self, name, own):
        if name not in self.held:
            with pytest.raises(InvalidInput, match="no item"):
                self.index.relabel(name, own)
            return
        self.index.relabel([name], [own])
        self.held[name] = self.held[name][0], None if own is None else tuple(sorted(own))

    @rule(name=ids)
    def remove(self, name):
        if name in self.held:
            self.index.remove(name)
            del self.held[name]

    def _edit(self, edit):
        made = self.review.apply(edit, create=True)
        if made is None:
            return
        before = {}
        for kind, name, label in made.changed.pairs:
            text, own = self.held[name]
            before.setdefault(name, own)
            after = set(own or ()) - {label} if kind == "wrong" else {*(own or ()), label}
            self.held[name] = text, tuple(sorted(after))
        self.decided.append((made.number, before))

    @rule(name=ids, more=labels, less=labels)
    def edit(self, name, more, less):
        if name in self.held and more != less and less in self.index.labels:
            self._edit(self.review.plan_edit([name], [more], [less]))

    @rule(old=labels, new=labels)
    def merge_or_rename(self, old, new):
        if old in self.index.labels and old != new:
            self._edit(self.review.plan_replace([old], new))

    @precondition(lambda self: self.decided)
    @rule()
    def undo(self):
        """Undo the last edit; of items that were changed since, only its labels change."""
        number, _ = self.decided.pop()
        made = self.review.undo(number)
        for one in made.parts:
            if one.changes and one.item in self.held:
                text, own = self.held[one.item]
                after = {*(own or ()), one.label} if one.had else set(own or ()) - {one.label}
                unknown = one.had is None and not after
                self.held[one.item] = text, None if unknown else tuple(sorted(after))

    # --- the folder -------------------------------------------------------------------

    @rule()
    def save(self):
        self.index.save()

    @rule()
    def load(self):
        self.index.close()
        self.index = SemanticIndex.load(self.folder, write=True, verify=True)
        self.review = Review(self.index)

    @rule(name=ids, own=lists)
    def kill(self, name, own):
        """A change is on disk when its call returns: what is there then is what a kill leaves."""
        self.index.add(["killed"], [own], [name], replace=True)
        self.held[name] = "killed", None if own is None else tuple(sorted(own))
        left = Path(shutil.copytree(self.folder, self.folder.parent / "left"))
        self.index.close()
        shutil.rmtree(self.folder)
        left.rename(self.folder)
        self.index = SemanticIndex.load(self.folder, write=True, verify=True)
        self.review = Review(self.index)

    # --- what holds -------------------------------------------------------------------

    @invariant()
    def holds_what_it_was_given(self):
        if not hasattr(self, "index"):
            return
        items = {item.id: (item.text, item.labels) for item in self.index.items()}
        assert items == self.held
        counts = Counter(label for _, own in items.values() for label in own or ())
        assert self.index.labels == counts

    def compare(self):
        """Compare with an index that is made of the same items in the same space."""
        if len(self.held) < 2:
            return
        copy = Path(shutil.copytree(self.original, self.folder.parent / "space"))
        fresh = made_from(copy, self.index.items())
        with SemanticIndex.load(self.folder) as read, SemanticIndex.load(fresh) as other:
            expected = answers(other)
            assert answers(self.index) == expected
            assert answers(read) == expected
            # Calibration of the tagger is that of the fit: tags are compared with the writer's.
            for own, others in zip(tags(read), tags(self.index), strict=True):
                assert own == pytest.approx(others, abs=1e-3)
            head, arrays = read_points(draw_points(read).points)
            assert head["ids"] == read.ids
            assert head["labels"] == sorted(read.labels)
            assert len(arrays["positions"]) == 2 * len(read)
            assert pages_of(self.folder) == pages_of(fresh)
            tables = [self.folder.parent / f"{n}.jsonl" for n in range(2)]
            for index, table in zip((read, other), tables, strict=True):
                export_file(index, table)
            first, second = ([*map(json.loads, t.read_text().splitlines())] for t in tables)
            for one, two in zip(sorted(first, key=id_of), sorted(second, key=id_of), strict=True):
                assert np.allclose(one.pop("vector"), two.pop("vector"), atol=1e-6)
                for row in (one, two):
                    row.pop("predicted", None)
                assert one == two


def id_of(row):
    return row["id"]


def pages_of(folder):
    """What pages of the explorer show as JSON, with hits by their ids."""
    with explore(folder) as client:
        found = client.get("/search.json", params={"q": "chess"}).json()
        listed = {hit["id"]: (hit["title"], hit["labels"]) for hit in found["hits"]}
        counts = client.get("/labels.json").json()["labels"]
        return found["count"], listed, counts, client.get("/index.json").json()["items"]


Changes.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=10,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class TestChanges(Changes.TestCase):
    """The machine, as a test."""
