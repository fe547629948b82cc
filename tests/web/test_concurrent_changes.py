"""Fifty threads change ten items at once: no acknowledged change is lost, no error made up."""

import hashlib
import random
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from _support.explorer import client_of, enter

from labelspan import SemanticIndex
from labelspan.curation import Review
from labelspan.errors import InvalidInput
from labelspan.web import Served

pytest.importorskip("starlette", reason="install labelspan[app]")

TOKEN = "0123456789abcdef"
THREADS, ROUNDS = 50, 2
# Items that stay, and items that come and go.
STAY, GO = [f"item{n}" for n in range(10, 17)], [f"item{n}" for n in range(17, 20)]


@pytest.fixture
def own(folder, tmp_path):
    """A copy of the index, to be changed."""
    return shutil.copytree(folder, tmp_path / "index")


def at_once(work):
    """Run ``work(number, random)`` in fifty threads that start together; return all results."""
    barrier = threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        return work(number, random.Random(number))

    with ThreadPoolExecutor(THREADS) as pool:
        return [one for found in pool.map(run, range(THREADS)) for one in found]


def name_of(number, turn):
    """A label that is not spelled like another."""
    return hashlib.sha256(f"{number} {turn}".encode()).hexdigest()[:16]


def check(folder, expected, unwanted):
    """See that the labels are there or not, and that they are counted right, also on disk."""
    with SemanticIndex.load(folder, verify=True) as index:
        labels = {item.id: set(item.labels or ()) for item in index.items()}
        assert index.labels == Counter(label for own in labels.values() for label in own)
    lost = [(item, label) for item, label in expected if label not in labels[item]]
    assert not lost, f"{len(lost)} of {len(expected)} lost"
    assert not [(item, label) for item, label in unwanted if label in labels[item]]
    return labels


def test_changes_by_python(own):
    with SemanticIndex.load(own, write=True) as index:
        review = Review(index)

        def work(number, rng):
            done = []
            for turn in range(ROUNDS):
                item, label = rng.choice(STAY), name_of(number, turn)
                kind = (number + turn) % 5
                if kind == 0:
                    review.feedback(item, [label])
                    done.append(("has", item, label))
                elif kind == 1:
                    edit = review.plan_edit([item], add=[label])
                    group = review.apply(edit, create=True)
                    index.undo(group.number)
                    done.append(("lacks", item, label))
                elif kind == 2:
                    with index.write_lock:
                        own = index.item(item).labels or ()
                        index.relabel(item, [*own, label])
                    done.append(("has", item, label))
                elif kind == 3:
                    with index.write_lock:
                        before = index.item(item)
                        index.add(["another text"], [before.labels], [item], replace=True)
                    done.append(("same", item, label))
                else:
                    coming = rng.choice(GO)
                    with index.write_lock:
                        if coming in index:
                            index.remove(coming)
                        else:
                            index.add(["photo"], [[label]], [coming])
                    with index.write_lock:
                        expected = nullcontext()
                        if coming not in index:
                            expected = pytest.raises(InvalidInput, match=f"no item '{coming}'")
                        with expected:
                            review.feedback(coming, ["seen"])
            return done

        done = at_once(work)
        totals = index.labels
    expected = [pair for what, *pair in done if what == "has"]
    assert len(expected) > 30
    labels = check(own, expected, [pair for what, *pair in done if what == "lacks"])
    assert totals == Counter(label for own in labels.values() for label in own)


def test_changes_by_the_explorer_and_other_programs(own):
    served = Served(own, edit=True)
    program = {"authorization": f"Bearer {TOKEN}"}
    with client_of(served, token=TOKEN) as client:
        browser = enter(client, served)

        def send(path, body, headers):
            answer = client.request("POST" if body else "DELETE", path, json=body, headers=headers)
            return answer.status_code, answer.json()

        def work(number, rng):
            done = []
            for turn in range(ROUNDS):
                item, label = rng.choice(STAY), name_of(number, turn)
                kind = (number + turn) % 5
                if kind == 0:
                    body = {"item": item, "accepted": [label], "create": True}
                    status, answer = send("/api/1/feedback", body, program)
                    assert label in answer["labels"]
                    done.append(("has", item, label))
                elif kind == 1:
                    body = {"items": [item], "add": [label], "create": True, "show": [item]}
                    status, answer = send("/edit/labels.json", body, browser)
                    assert label in answer["labels"][item]
                    done.append(("has", item, label))
                elif kind == 2:
                    body = {"items": [item], "add": [label], "create": True, "show": [item]}
                    _, answer = send("/edit/labels.json", body, browser)
                    body = {"number": answer["decision"]["number"], "show": [item]}
                    status, answer = send("/edit/undo.json", body, browser)
                    assert label not in answer["labels"][item]
                    done.append(("lacks", item, label))
                elif kind == 3:
                    body = {"items": [{"id": item, "text": f"photo {number}"}]}
                    status, answer = send("/api/1/items", body, program)
                    assert (answer["added"], answer["changed"]) == (0, 1)
                else:
                    coming = rng.choice(GO)
                    status, answer = send(f"/api/1/items/{coming}", None, program)
                    missing = f"There is no item '{coming}' in the index."
                    assert status == 200 or answer["detail"] == missing
                    body = {"items": [{"id": coming, "text": "photo", "labels": ["game"]}]}
                    status, _ = send("/api/1/items", body, program)
                assert status == 200
            return done

        done = at_once(work)
    expected = [pair for what, *pair in done if what == "has"]
    assert len(expected) > 30
    labels = check(own, expected, [pair for what, *pair in done if what == "lacks"])
    assert {*STAY, *GO} <= labels.keys()


def test_ids_without_a_name_are_given_once(own):
    with SemanticIndex.load(own, write=True) as index:
        at_once(lambda number, rng: [index.add([f"text {number}"])])
        assert len(index) == 60 + THREADS
    with SemanticIndex.load(own, verify=True) as index:
        assert {f"text {number}" for number in range(THREADS)} <= {i.text for i in index.items()}
