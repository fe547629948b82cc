"""A dense block next to sparse features gives the tags of one matrix of both."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from labelspan.operators.joined import JoinedRows
from labelspan.tagger import Tagger
from labelspan.tagger.learning import learn_tagger, left_out_quality

N = 1200


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    words = sparse.random(N, 200, 0.05, format="csr", random_state=1, dtype=np.float32)
    block = (0.2 * rng.standard_normal((N, 9))).astype(np.float16).astype(np.float32)
    own = np.hstack([words[:, :5].toarray() > 0.3, block[:, :4] > 0.15])
    targets = sparse.csr_matrix(own.astype(np.float32))
    both = sparse.csr_matrix(sparse.hstack([words, sparse.csr_matrix(block)]), dtype=np.float32)
    return JoinedRows(words, block), both, targets


@pytest.mark.parametrize("scaled", [False, True])
def test_scores_changes_and_contributions(data, scaled, monkeypatch):
    joined, both, targets = data
    names = [f"label{n}" for n in range(targets.shape[1])]
    if scaled:
        # The remainders of scaled features are chosen, as they are on texts.
        choose = "labelspan.tagger.learning._TagOrder.quality"
        monkeypatch.setattr(choose, lambda self, scores: float(abs(scores[:50]).sum()))
    one, two = (learn_tagger(names, targets, rows, np.arange(N)) for rows in (joined, both))
    # Voters are the nearest by words; of one matrix the columns of all rows are no words.
    assert (one.alpha, one.rest, one.scaled) == pytest.approx(
        (two.alpha, two.rest, two.scaled), rel=1e-4
    )
    for own in (None, np.arange(100), np.arange(100) - 1):
        for count in (100, 10):
            given = None if own is None else own[:count]
            scores = [t.own_scores(x[:count], given) for t, x in ((one, joined), (two, both))]
            assert_allclose(*scores, atol=1e-4)
    shares = [t.contributions(x[:1], 6) for t, x in ((one, joined), (two, both))]
    assert_allclose(*shares, atol=1e-5)
    rows, own = np.array([3, N, N + 1]), targets[[1, 2, 3]]
    one, two = (
        t.updated(names, rows, own, x[[7, 8]], [5]) for t, x in ((one, joined), (two, both))
    )
    scores = [t.own_scores(x[:100], None) for t, x in ((one, joined), (two, both))]
    assert_allclose(*scores, atol=1e-4)
    again = Tagger.from_arrays(names, one.arrays())
    assert_allclose(again.own_scores(joined[:100], None), scores[0], atol=1e-5)


def test_a_block_that_knows_the_labels_is_better(data):
    joined, _, targets = data
    known = np.hstack([targets.toarray(), joined.block]).astype(np.float32)
    good, bad = (
        left_out_quality(targets, JoinedRows(joined.words, b)) for b in (known, joined.block)
    )
    assert good > bad + 0.05
