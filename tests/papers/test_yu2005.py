"""yu2005's experiment: its splits, its SVMs, its MLSI, and what the report is made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from labelspan.evaluation.measurements import Results
from labelspan.papers.paper import Scale
from labelspan.papers.verdicts import judge as judge_claim
from labelspan.papers.verdicts import load_claims
from labelspan.papers.yu2005 import PAPER, curves, other_methods, sweeps
from labelspan.papers.yu2005.protocol import (
    SETTINGS,
    PaperCorpus,
    _measure,
    evaluate_map,
    make_split,
)


def made_up(rows=300, words=160, categories=20, seed=0):
    """Documents whose words follow their categories."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((rows, categories)) < 0.15).astype(np.uint8)
    Y[np.arange(rows), rng.integers(categories, size=rows)] = 1
    topics = rng.random((categories, words)) * (rng.random((categories, words)) < 0.1)
    noise = rng.random((rows, words)) * (rng.random((rows, words)) < 0.2)
    return PaperCorpus(sparse.csr_array(normalize(Y @ topics + noise)), Y)


@pytest.fixture(scope="module")
def corpus():
    # Enough rows for 50 dimensions in each of three folds of a fifth of them.
    return made_up(400)


@pytest.fixture(scope="module")
def found(corpus):
    """The records of the quick jobs of all parts, on documents made up."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (curves, sweeps, other_methods):
            patch.setattr(module, "load_corpus", lambda name, data_home: corpus)
        records = {
            part.name: [
                {**key, **record}
                for key in part.jobs(Scale(quick=True))
                for record in part.run(key, None)
            ]
            for part in PAPER.parts
        }
    # A full run has both corpora there; these are the same documents.
    records["beyond"] += [{**record, "data": "rcv1"} for record in records["beyond"]]
    return {name: Results(several) for name, several in records.items()}


# --- jobs and splits ------------------------------------------------------------------


def test_a_split_is_one_fold_against_four(corpus):
    rows, categories = corpus.Y.shape
    splits = [make_split(corpus, {"seed": 3, "fold": fold}) for fold in range(5)]
    trained = np.concatenate([split.train for split in splits])
    assert np.array_equal(np.sort(trained), np.arange(rows))
    for split in splits:
        assert np.array_equal(np.sort(np.r_[split.train, split.test]), np.arange(rows))
        assert split.train.size == rows // 5 == split.unseen.size
        assert np.isin(split.unseen, split.test).all()
        assert np.array_equal(np.sort(np.r_[split.seen, split.new]), np.arange(categories))
        assert split.seen.size == round(0.7 * categories)
        assert np.array_equal(split.seen, splits[0].seen)
    other = make_split(corpus, {"seed": 4, "fold": 0})
    assert not np.array_equal(other.train, splits[0].train)
    assert not np.array_equal(other.seen, splits[0].seen)


# --- SVMs and measures ----------------------------------------------------------------


@pytest.fixture
def decisions(monkeypatch):
    """What the SVMs say, setting by setting, with the labels it is evaluated on."""
    said = []
    monkeypatch.setattr(
        "labelspan.papers.yu2005.protocol._measure",
        lambda truth, decisions, learned: said.append((truth, decisions)) or {},
    )

    def run(corpus, split):
        said.clear()
        assert [scores["setting"] for scores in evaluate_map(corpus, split, corpus.X)] == list(
            SETTINGS
        )
        return list(said)

    return run


def test_both_settings_are_evaluated_with_libsvm(corpus, decisions):
    split = make_split(corpus, {"seed": 1, "fold": 2})
    (truth, one), (new, two) = decisions(corpus, split)
    svm = SVC(C=100.0, kernel="linear")
    dense = corpus.X.toarray()
    assert np.array_equal(truth, corpus.Y[np.ix_(split.test, split.seen)])
    for column, label in enumerate(split.seen):
        svm.fit(dense[split.train], corpus.Y[split.train, label])
        assert_allclose(one[:, column], svm.decision_function(dense[split.test]), atol=1e-2)
    # Setting II: each part of the unseen rows by SVMs that learned on the other four.
    parts = np.concatenate([np.full(len(p), i) for i, p in enumerate(np.array_split(new, 5))])
    for column, label in enumerate(split.new):
        expected = cross_val_predict(
            svm,
            dense[split.unseen],
            corpus.Y[split.unseen, label],
            cv=PredefinedSplit(parts),
            method="decision_function",
        )
        assert_allclose(two[:, column], expected, atol=1e-2)


def test_measures_are_scikit_learns():
    rng = np.random.default_rng(7)
    truth = (rng.random((80, 8)) < 0.3).astype(int)
    learned = np.arange(80)[:, None] < 8 * np.arange(1, 9)
    said = truth + rng.standard_normal((80, 8)) - 0.5
    found = _measure(truth, said, learned)
    each = f1_score(truth, said > 0, average=None)
    assert_allclose(found["macro F1"], each.mean())
    assert_allclose(found["micro F1"], f1_score(truth, said > 0, average="micro"))
    assert_allclose(found["AUC"], roc_auc_score(truth, said, average="macro"))
    # Where SVMs learn, the later columns are the commoner ones.
    assert_allclose(found["F1 of rare"], each[:4].mean())
    assert_allclose(found["F1 of common"], each[4:].mean())


# --- the paper's MLSI -----------------------------------------------------------------


# --- records, claims, tables and figures ----------------------------------------------


def test_every_claim_can_be_checked(found):
    claims = load_claims("yu2005")
    assert len({claim.id for claim in claims}) == len(claims)
    silent = [c.id for c in claims if judge_claim(c, found[c.part]).outcome == "not run"]
    # They need the fine grid.
    assert silent == ["beta-smooth", "insensitive-to-k"]
    assert sum(claim.sure for claim in claims) >= 4


def test_figures_are_drawn_from_whatever_is_there(found):
    pytest.importorskip("matplotlib")
    for part, panels in zip(PAPER.parts, (6, 6, 4, 12, 6), strict=True):
        figure = part.draw(found[part.name])
        assert len(figure.axes) == panels
        figure.canvas.draw()
        part.draw(Results([])).canvas.draw()
    axis = curves.FIGURE_1.draw(found["figure 1"]).axes[0]
    assert axis.get_title() == "setting I: macro F1"
    assert axis.get_legend_handles_labels()[1] == ["all features", "LSI", "MLSI", "MLSI, ridge"]
