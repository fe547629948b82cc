"""Items placed by their known labels: the formula, searches, and what is kept in a folder."""

import numpy as np
import pytest
from _support.stored import rewritten

from labelspan import Adapter, SemanticIndex
from labelspan.errors import InvalidFile
from labelspan.index.store import LabelTable
from labelspan.index.vectors import LabelDirections, UnitVectors, label_places, unit_rows


def placed(seed=0, n=50, m=6):
    """Return vectors, an indicator, directions, and the places computed by the formula."""
    rng = np.random.default_rng(seed)
    U = unit_rows(rng.standard_normal((n, m)))
    Y = (rng.random((n, 3)) < 0.4).astype(float)
    Y[::5] = 0
    D, means = rng.standard_normal((3, m)), rng.random(3)
    known = Y.any(axis=1)
    P = np.where(known[:, None], (Y - means) @ D, 0.0)
    Z = U + P / np.sqrt(np.square(P[known]).sum(axis=1).mean())
    table = LabelTable.of([tuple(f"l{j}" for j in np.flatnonzero(row)) for row in Y])
    return U, table, LabelDirections(D, means), Z / np.linalg.norm(Z, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(2))
def test_places_are_those_of_the_formula(seed):
    U, table, found, Z = placed(seed)
    # A label that came after the fit has no direction.
    table = table.changed({0: (*(table.labels(0) or ()), "new")})
    places = label_places(UnitVectors(U), table.matrix(), found)
    np.testing.assert_allclose(places.rows(np.arange(50)), Z, atol=1e-6)
    late = UnitVectors(U[:30])
    late.append(U[30:])
    again = label_places(late, table.matrix(), found)
    np.testing.assert_allclose(again.base, places.base, atol=1e-6)
    # No label has a direction: items stay where they are.
    nowhere = LabelDirections(found.directions[:0], found.means[:0])
    np.testing.assert_allclose(label_places(late, table.matrix(), nowhere).base, U, atol=1e-6)


def fitted(seed=0):
    """An index of vectors in which labels hide behind noise."""
    rng = np.random.default_rng(seed)
    Y = rng.random((200, 4)) < 0.3
    X = Y @ rng.standard_normal((4, 30)) + 2 * rng.standard_normal((200, 30))
    lists = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
    index = SemanticIndex(estimator=Adapter(10, balance=0.5, compare=False))
    return index.fit([""] * 200, lists, vectors=X), lists, X


def test_more_like_this_goes_by_labels_and_vectors(tmp_path):
    index, lists, X = fitted()
    model, store = index.model, index.store
    assert model.space.directions is not None

    def shared(name, hits):
        own = set(lists[int(name)])
        return np.mean([len(own & set(hit.labels)) / len(own | set(hit.labels)) for hit in hits])

    asked = [str(n) for n in range(200) if lists[n]]
    places, vectors = np.zeros(len(asked)), np.zeros(len(asked))
    for row, name in enumerate(asked):
        places[row] = shared(name, index.search(items=name))
        near = store.vectors.top(index.vectors([name]), 11)[0][0]
        vectors[row] = shared(name, [index.item(str(n)) for n in near if str(n) != name])
    assert places.mean() > vectors.mean() + 0.1
    hit = index.search(items="3")[0]
    why = index.explain(None, hit.id, items="3")
    assert why.score == pytest.approx(hit.score, abs=1e-6)
    # The same from a folder, and after changes there.
    index.save(tmp_path / "i")
    hits = index.search(items="3")
    with SemanticIndex.load(tmp_path / "i", write=True) as again:
        assert again.search(items="3") == hits
        moved = next(name for name in asked if not set(lists[3]) & set(lists[int(name)]))

        def score():
            return sum(h.score for h in again.search(items="3", k=199) if h.id == moved)

        before = score()
        again.relabel(moved, lists[3])
        after = score()
        assert after > before
        again.add([""], [["l0", "never seen"]], ["new"], vectors=X[:1])
        assert any(h.id == "new" for h in again.search(items="0", k=199))


def test_damaged_directions_are_refused(tmp_path):
    index, _, _ = fitted()
    index.save(tmp_path / "i")
    wrong = index.model.space.directions.directions[:, :3]
    rewritten(tmp_path / "i", "space", estimator_label_directions_=wrong)
    with pytest.raises(InvalidFile, match="space do not fit together"):
        SemanticIndex.load(tmp_path / "i")
