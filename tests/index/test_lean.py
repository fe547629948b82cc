"""Searches without scikit-learn: the map of texts, and parts that are read when needed."""

import numpy as np
import pytest
from _support.stored import edited, made, run
from _support.topics import corpus
from sklearn.feature_extraction.text import TfidfVectorizer

from labelspan import LSI, MLSI, OPLS, SemanticIndex
from labelspan.errors import InvalidFile

TEXTS = ["Crop a PHOTO, photo!", "chess chess the", "", "日本語 radio", "unheard", "a\u0301 ß ﬁ"]


@pytest.mark.parametrize(
    "estimator", [MLSI(5), LSI(4, center=True), OPLS(2)], ids=lambda kind: type(kind).__name__
)
def test_texts_are_mapped_as_by_vectorizer_and_estimator(tmp_path, estimator):
    index = made(estimator=estimator)
    model = index._fitted()[0]
    own, _, _, _ = corpus(24)
    expected = model.vectors(model.vectorizer.transform(own + TEXTS))
    index.save(tmp_path / "i")
    for lazy in (False, True):
        with SemanticIndex.load(tmp_path / "i", lazy=lazy) as again:
            assert again._fitted()[0].text_map is not None
            found = again._fitted()[0].text_vectors(own + TEXTS)
            np.testing.assert_allclose(found, expected, atol=2e-6)
            assert again.search("chess player") == index.search("chess player")


def test_another_vectorizer_is_used_itself(tmp_path):
    index = made(vectorizer=TfidfVectorizer()).save(tmp_path / "i")
    assert index._fitted()[0].text_map is None
    with SemanticIndex.load(tmp_path / "i", lazy=True) as again:
        assert again._fitted()[0].text_map is None
        assert again.search("chess player") == index.search("chess player")


def test_searches_and_tags_do_not_import_scikit_learn(tmp_path):
    index = made().save(tmp_path / "i")
    script = """
import sys
from labelspan.index import SemanticIndex
index = SemanticIndex.load(sys.argv[1], lazy=True)
print([hit.id for hit in index.search('"chess" play* -radio', 3, {"without": "sound"})])
print([hit.id for hit in index.search(items="item0", k=3)])
print([hit.id for hit in index.search(labels="game", k=3)])
print(index.n_dimensions, index.can_tag, index)
print([name for name in ("scipy", "sklearn") if name in sys.modules])
label = index.tag("chess", 1)[0].label
print([one.word for one in index.explain_tag(label, "chess").words])
print(index.explain("chess player", "item0"))
print(index.explain(None, "item0", items="item2"))
print(len(index.label_report()))
print([name for name in ("sklearn",) if name in sys.modules])
print(label, index.space.n_components)
"""
    done = run(script, tmp_path / "i")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    by_text = index.search('"chess" play* -radio', 3, {"without": "sound"})
    assert lines[0] == str([hit.id for hit in by_text])
    assert lines[1] == str([hit.id for hit in index.search(items="item0", k=3)])
    assert lines[4] == "[]"
    label = index.tag("chess", 1)[0].label
    assert lines[5] == str([one.word for one in index.explain_tag(label, "chess").words])
    with SemanticIndex.load(tmp_path / "i", lazy=True) as again:
        assert lines[6] == str(again.explain("chess player", "item0"))
        assert lines[7] == str(again.explain(None, "item0", items="item2"))
    assert lines[8] == str(len(index.label_report()))
    assert lines[9] == "[]"
    assert lines[10] == f"{label} 5"


def test_a_description_does_not_import_scikit_learn(tmp_path):
    index = made().save(tmp_path / "i")
    script = """
import sys
from labelspan.index import SemanticIndex
from labelspan.index.description import describe
found = describe(SemanticIndex.load(sys.argv[1], lazy=True))
print(found.method, found.parameters["n_components"], found.values["n_components_"])
print(found.labelled, found.metadata)
print([name for name in ("scipy", "sklearn") if name in sys.modules])
"""
    done = run(script, tmp_path / "i")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["MLSI 5 5", "24 ['free', 'shelf', 'year']", "[]"]
    assert len(index) == 24


def test_explanations_are_those_of_vectorizer_and_estimator(tmp_path):
    index = made().save(tmp_path / "i")
    model = index._fitted()[0]
    assert model.text_map is not None
    with SemanticIndex.load(tmp_path / "i", lazy=True) as again:
        found = again.explain("Chess player!", "item0")
        axes = again.axes(3)
    model.text_map = None
    expected = index.explain("Chess player!", "item0")
    assert found.words
    assert [one.word for one in found.words] == [one.word for one in expected.words]
    assert [one.shared for one in found.words] == [one.shared for one in expected.words]
    np.testing.assert_allclose(
        [one.share for one in found.words], [one.share for one in expected.words], rtol=1e-4
    )
    assert [one.axis.number for one in found.axes] == [one.axis.number for one in expected.axes]
    assert [one.eigenvalue for one in axes] == [one.eigenvalue for one in index.axes(3)]
    assert [one.words for one in axes] == [one.words for one in index.axes(3)]


def test_what_does_not_fit_is_noticed(tmp_path):
    made().save(tmp_path / "i")
    edited(tmp_path / "i", lambda content: content["estimator"]["params"].update(beta=7))
    with pytest.raises(InvalidFile, match="parameters of the estimator are damaged"):
        SemanticIndex.load(tmp_path / "i")
    # Without the estimator a search is possible; it is refused when it is needed.
    with SemanticIndex.load(tmp_path / "i", lazy=True) as index:
        assert index.search("chess")
        with pytest.raises(InvalidFile, match="parameters of the estimator are damaged"):
            _ = index.space
    edited(tmp_path / "i", lambda content: content["files"].pop("idf.npy"))
    with pytest.raises(InvalidFile, match=r"there is no file 'idf\.npy'"):
        SemanticIndex.load(tmp_path / "i", lazy=True)
    made(estimator=MLSI(4)).save(tmp_path / "j")
    other = next((tmp_path / "j").glob("generation-*")) / "estimator_components.npy"
    own = next((tmp_path / "i").glob("generation-*")) / "estimator_components.npy"
    made().save(tmp_path / "i")
    own = next((tmp_path / "i").glob("generation-*")) / "estimator_components.npy"
    own.write_bytes(other.read_bytes())
    with pytest.raises(InvalidFile, match="damaged"):
        SemanticIndex.load(tmp_path / "i", lazy=True)
