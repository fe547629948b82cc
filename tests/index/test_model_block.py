"""A language model next to the words: in the space, the search and the tags, in every state."""

import numpy as np
import pytest
from _support.tiny_models import Server, embedding_server, onnx_model
from numpy.testing import assert_allclose

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput, Mismatch, MissingData
from labelspan.index.model_block import BlockSource, ModelBlock
from labelspan.models import FunctionModel, VectorStore

TOPICS = {"traffic": ["car", "automobile", "engine"], "food": ["cake", "pastry", "oven"]}
FILL = [f"word{n}" for n in range(30)]


def corpus(count=60, seed=0):
    """Texts of which the words say little: each has one of several words of its topic."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for n in range(count):
        topic = ["traffic", "food"][n % 2]
        own = rng.choice(TOPICS[topic], 1).tolist() + rng.choice(FILL, 3).tolist()
        # Often a title and a text, as files give them.
        texts.append(("\n" if n % 3 else " ").join([own[0], " ".join(own[1:])]))
        labels.append([topic])
    return texts, labels


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def encode(texts):
    server = Server()
    return [server.vector(text) for text in texts]


@pytest.fixture(scope="module")
def fitted():
    texts, labels = corpus()
    return SemanticIndex(MLSI(4)).fit(texts, labels, encoder=encode)


def answers(index, query="pastry word3"):
    found = index.search(query, 8, balance=1.0)
    tags = index.tag(query, 2)
    return (
        {hit.id: round(hit.score, 5) for hit in found},
        {tag.label: round(tag.probability, 5) for tag in tags},
        {tag.label: round(tag.probability, 5) for tag in index.tag(items="3", k=2)},
    )


def test_meaning_finds_what_words_do_not(fitted):
    texts, labels = corpus()
    # No text has both words; in the model they are the same.
    words = SemanticIndex(MLSI(4)).fit([t.replace("automobile", "car") for t in texts], labels)
    assert words.search("automobile", 5, balance=0) == []
    found = fitted.search("automobile", 20)
    assert {fitted.item(hit.id).labels for hit in found} == {("traffic",)}
    assert any("automobile" not in hit.text for hit in found)
    assert [tag.label for tag in fitted.tag("automobile", 1)] == ["traffic"]
    assert fitted.model.balance == 0.5
    assert words.model.balance == 0.4
    assert (fitted.model_name, fitted.problem) == ("", "")


def test_words_stay_words(fitted):
    texts, labels = corpus()
    plain = SemanticIndex(MLSI(4)).fit(texts, labels)
    for query in ("oven", "word3 word4", "car -word1"):
        one, two = (
            [(hit.id, hit.score) for hit in index.search(query, 10, balance=0)]
            for index in (plain, fitted)
        )
        assert one == two
    reasons = fitted.explain("oven", fitted.search("oven", 1)[0].id)
    assert {share.word for share in reasons.matches} == {"oven"}
    assert reasons.from_words > 0
    assert reasons.from_space > 0
    assert all(isinstance(share.word, str) for share in reasons.words)
    shares = fitted.explain_tag("food", "an oven and word3").words
    assert {share.word for share in shares} <= {"an", "oven", "and", "word3"}
    assert fitted.axes(2)[0].words.high


def test_a_saved_index_gives_the_same_answers(fitted, tmp_path):
    fitted.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i", verify=True, encoder=encode) as again:
        assert answers(again) == answers(fitted)
        assert_allclose(again.vectors(), fitted.vectors(), atol=1e-6)
    with SemanticIndex.load(tmp_path / "i") as again:
        assert "encoder of the fit is missing" in again.problem
        # Items keep their vectors; queries are compared by their words.
        assert_allclose(again.vectors(), fitted.vectors(), atol=1e-6)
        assert answers(again)[2] == answers(fitted)[2]
        assert again.search("oven", 3)
        assert again.tag("oven", 1)
        assert again.model.balance == 0.4
        with pytest.raises(Mismatch, match="loaded for reading"):
            again.add(["a car"])
    with (
        SemanticIndex.load(tmp_path / "i", write=True) as writer,
        pytest.raises(Mismatch, match="needed for new items, but is missing"),
    ):
        writer.add(["a car"])
    with pytest.raises(Mismatch, match="gives other vectors than the model"):
        SemanticIndex.load(tmp_path / "i", encoder=lambda texts: np.eye(len(texts), 4))
    with pytest.raises(Mismatch, match="gives other vectors than the model"):
        SemanticIndex.load(tmp_path / "i", encoder=lambda texts: np.ones((len(texts), 5)))


@pytest.mark.parametrize("saved", [False, True])
def test_changes_equal_an_index_of_the_same_items(tmp_path, saved):
    texts, labels = corpus(40)
    more, own = corpus(10, seed=5)
    index = SemanticIndex(MLSI(4)).fit(texts, labels, encoder=encode)
    index.save(tmp_path / "i")
    given = {"write": True, "encoder": encode}
    if saved:
        index = SemanticIndex.load(tmp_path / "i", **given)
    index.add(more, own, [f"n{n}" for n in range(10)])
    index.remove(["1", "n3"]).relabel("5", ["food"])
    index.add(["an old engine"], [["traffic"]], ["2"], replace=True)
    if saved:
        before = answers(index)
        index.close()
        index = SemanticIndex.load(tmp_path / "i", **given)
        assert answers(index) == before
    # In the same space, from nothing.
    items = index.items()
    with SemanticIndex.load(tmp_path / "i", **given) if not saved else index as space:
        other = space
        rows = other.store.rows(other.ids)
        units = other.model.block.of_items([item.text for item in other.items()], None, "add")
        assert_allclose(other.store.block_rows.rows(rows), units, atol=1e-6)
    assert len(items) == 48


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("source", ["vectors", "encoder", "neither"])
def test_what_is_undone_has_its_vector_again(tmp_path, saved, source):
    """Also without the model, and where vectors are given."""
    if source == "neither" and not saved:
        return
    texts, labels = corpus()
    vectors = np.array(encode(texts))
    given = {"vectors": vectors} if source == "vectors" else {"encoder": encode}
    index = SemanticIndex(MLSI(4)).fit(texts, labels, **given)
    index.save(tmp_path / "i")
    if saved:
        model = {"encoder": encode} if source == "encoder" else {}
        index = SemanticIndex.load(tmp_path / "i", write=True, **model)

    def state():
        ids = ["3", "4"]
        return index.store.block_rows.rows(index.store.rows(ids)), index.vectors(ids)

    before = state()
    index.remove("3")
    if source != "neither":
        more = {"vectors": vectors[5:6]} if source == "vectors" else {}
        index.add(["pastry"], [["food"]], ["4"], replace=True, **more)
        index.undo(index.history()[0].number)
    index.undo(index.history()[0].number if source == "neither" else 1)
    for one, other in zip(before, state(), strict=True):
        assert_allclose(other, one, atol=1e-6)
    index.close()


def test_units_and_offsets_of_vectors_do_not_matter():
    texts, labels = corpus()
    vectors = np.array(encode(texts))
    found = []
    for given in (vectors, 1e-3 * vectors + 7, (1e5 * vectors).astype("f4")):
        index = SemanticIndex(MLSI(4)).fit(texts, labels, vectors=given)
        found.append(index.vectors() @ index.vectors().T)
    assert_allclose(found[1], found[0], atol=0.02)
    assert_allclose(found[2], found[0], atol=0.02)


def test_dimensions_that_are_rounding_have_no_weight():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 6))
    clean = ModelBlock.learn(BlockSource(), vectors, []).rows(vectors)
    for noise in (1e-33, 1e-9, 5e-8):
        extra = noise * rng.standard_normal((50, 2))
        both = np.hstack([vectors, extra, np.ones((50, 1)), 1e6 + 1e-5 * extra[:, :1]])
        block = ModelBlock.learn(BlockSource(), both.astype("f8"), [])
        assert block.live.tolist() == list(range(6))
        assert_allclose(block.rows(both), clean, atol=1e-3)
    with pytest.raises(InvalidInput, match="same vector"):
        ModelBlock.learn(BlockSource(), np.ones((5, 3)), [])


def test_given_vectors_need_no_model():
    texts, labels = corpus()
    vectors = np.array(encode(texts))
    index = SemanticIndex(MLSI(4)).fit(texts, labels, vectors=vectors)
    assert (index.problem, index.model_name) == ("", "")
    assert index.search(vectors[4], 1)[0].labels == ("traffic",)
    assert [hit.labels for hit in index.search(vectors[4:6], 1)[1]] == [("food",)]
    assert index.search("oven", 1)
    index.add(["nothing known"], [["food"]], ["new"], vectors=vectors[1:2])
    assert "new" in [hit.id for hit in index.search(vectors[1], 20)]
    with pytest.raises(Mismatch, match=r"add: .* fitted with vectors of its items"):
        index.add(["a car"])
    with pytest.raises(InvalidInput, match="NaN"):
        index.add(["a car"], vectors=np.full((1, 4), np.nan))
    with pytest.raises(InvalidInput, match="4 dimensions as in fit, but have 3"):
        index.add(["a car"], vectors=np.ones((1, 3)))
    with pytest.raises(InvalidInput, match="60 items and 59 rows"):
        SemanticIndex(MLSI(4)).fit(texts, labels, vectors=vectors[1:])


def test_vectors_with_the_model_they_come_from():
    texts, labels = corpus()
    asked = []

    def watched(given):
        asked.extend(given)
        return encode(given)

    index = SemanticIndex(MLSI(4)).fit(
        texts, labels, vectors=np.array(encode(texts)), encoder=watched
    )
    assert len(asked) <= 3
    assert [tag.label for tag in index.tag("automobile", 1)] == ["traffic"]


def test_bad_encoders_are_errors_and_leave_the_index_as_it_was(fitted):
    texts, labels = corpus()
    for encoder, message in (
        (lambda given: np.full((len(given), 3), np.nan), "NaN"),
        (lambda given: np.ones((len(given) - 1, 3)), "one vector for each"),
        (lambda given: [["a"]] * len(given), "row of numbers"),
        (7, "function"),
    ):
        index = SemanticIndex(MLSI(4))
        with pytest.raises(InvalidInput, match=message):
            index.fit(texts, labels, encoder=encoder)
        assert len(index) == 0
    with pytest.raises(Mismatch, match="give one"):
        SemanticIndex(model="a").fit(texts, labels, encoder=encode)


def test_a_model_by_name_is_found_again_and_texts_are_encoded_once(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = onnx_model(tmp_path / "tiny")
    texts, labels = corpus()
    told = []
    index = SemanticIndex(MLSI(4), model=folder)
    index.fit(texts, labels, progress=lambda done, total, what: told.append(what))
    assert index.model_name == str(folder)
    assert any("encoding texts" in one and "a second" in one for one in told)
    told.clear()
    again = SemanticIndex(MLSI(6), model=folder)
    again.fit(texts[::-1], labels[::-1], progress=lambda _, __, what: told.append(what))
    assert not any("encoding" in one for one in told)
    index.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i", write=True) as loaded:
        assert loaded.problem == ""
        assert answers(loaded) == answers(index)
        loaded.add(["automobile old"], ids=["new"])
        assert loaded.search(items="new", k=1)[0].labels == ("traffic",)
    # Another model in its place is refused, and said.
    onnx_model(tmp_path / "other", seed=9)
    folder.rename(tmp_path / "gone")
    (tmp_path / "other").rename(folder)
    with SemanticIndex.load(tmp_path / "i") as loaded:
        assert loaded.search("oven", 1)
        assert "only the words" in loaded.problem
        assert "gives other vectors" in loaded.problem
    with SemanticIndex.load(tmp_path / "i", model=tmp_path / "gone") as loaded:
        assert loaded.problem == ""
        assert answers(loaded) == answers(index)
    with pytest.raises(MissingData, match="no folder or file"):
        SemanticIndex.load(tmp_path / "i", model="./nowhere/at all")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_device_learns_the_same(tmp_path, device):
    torch = pytest.importorskip("torch")
    runtime = pytest.importorskip("onnxruntime")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    if device == "cuda" and "CUDAExecutionProvider" not in runtime.get_available_providers():
        pytest.skip("this onnxruntime cannot use CUDA")
    folder = onnx_model(pytest.importorskip("onnx") and tmp_path / "tiny")
    texts, labels = corpus()
    one, two = (
        SemanticIndex(MLSI(4), model=folder).fit(texts, labels, device=where)
        for where in (None, device)
    )
    assert_allclose(two.vectors() @ two.vectors().T, one.vectors() @ one.vectors().T, atol=1e-3)
    assert [hit.id for hit in two.search("automobile", 5)] == [
        hit.id for hit in one.search("automobile", 5)
    ]


def test_a_server_that_stops_is_said_and_asked_again(tmp_path, monkeypatch):
    texts, labels = corpus()
    with embedding_server() as (address, server):
        port = int(address.rpartition(":")[2].partition("/")[0])
        index = SemanticIndex(MLSI(4), model=f"{address}#tiny").fit(texts, labels)
        index.save(tmp_path / "i")
        count = len(server.asked)
        with SemanticIndex.load(tmp_path / "i") as again:
            assert answers(again) == answers(index)
            # Queries are kept: the second time nobody asks.
            before = len(server.asked)
            again.search("pastry word3")
            assert len(server.asked) == before
        assert count < before
    with SemanticIndex.load(tmp_path / "i") as again:
        assert again.search("oven", 1)
        assert f"{address}/embeddings cannot be reached" in again.problem
        assert again.model.balance == 0.4
        monkeypatch.setattr("labelspan.index.model_block._PAUSE", 0.0)
        with embedding_server(port=port):
            assert again.problem == ""
            assert [tag.label for tag in again.tag("automobile", 1)] == ["traffic"]
        # It stops between two queries.
        assert again.search("a new query about an oven", 1)
        assert "cannot be reached" in again.problem


def test_a_server_that_hangs_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("labelspan.models.embedding_server._HURRIED", (0.2, 1))
    texts, labels = corpus()
    with embedding_server() as (address, server):
        index = SemanticIndex(MLSI(4), model=f"{address}#tiny").fit(texts, labels)
        index.save(tmp_path / "i")
        server.delay = 1.0
        asked = len(server.asked)
        with SemanticIndex.load(tmp_path / "i") as again:
            assert again.search("oven", 1)
            assert "cannot be reached" in again.problem
            assert len(server.asked) <= asked + 1


def test_a_foreign_server_is_not_asked_without_being_named(tmp_path):
    texts, labels = corpus()
    model = FunctionModel(encode)
    model.name = "http://203.0.113.7/v1#tiny"
    index = SemanticIndex(MLSI(4), model=model).fit(texts, labels)
    index.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i") as again:
        assert again.search("oven", 1)
        assert "set LABELSPAN_MODEL" in again.problem
    with SemanticIndex.load(tmp_path / "i", model=model) as again:
        assert again.problem == ""


def test_empty_texts_have_no_vector():
    texts, labels = corpus()
    index = SemanticIndex(MLSI(4)).fit([*texts, "", " "], [*labels, None, None], encoder=encode)
    assert not index.store.block_rows.rows(np.array([60, 61])).any()
    assert not index.vectors(["60"]).any()
    assert not index.embed("").any()


def test_without_labels_and_in_one_space_with_lsi():
    texts, _ = corpus()
    index = SemanticIndex(LSI(4)).fit(texts, encoder=encode)
    assert index.model.block.lengths[0] == 0.7
    assert {index.item(h.id).text.split()[0] for h in index.search("automobile", 20)} <= set(
        TOPICS["traffic"]
    )


def test_the_length_is_chosen_by_what_it_predicts():
    """A model of noise counts little, one that knows the labels much."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(FILL, 6)) for _ in range(400)]
    labels = [[word for word in FILL[:6] if word in text.split()] or ["none"] for text in texts]
    noise = rng.standard_normal((400, 32))
    index = SemanticIndex(MLSI(8)).fit(texts, labels, vectors=noise)
    assert index.model.block.lengths[0] == 0.3
    assert index.model.block.lengths[1] <= 0.7
    known = np.array([[name in own for name in [*FILL[:6], "none"]] for own in labels], float)
    index = SemanticIndex(MLSI(8)).fit(texts, labels, vectors=known + 0.01 * noise[:, :7])
    assert index.model.block.lengths[1] > 0.3


@pytest.mark.parametrize("name", ["model_block", "model_rows"])
def test_damaged_files_are_refused(fitted, tmp_path, name):
    fitted.save(tmp_path / "i")
    (path,) = (tmp_path / "i").glob(f"generation-*/{name}.arrays")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InvalidFile, match=name):
        SemanticIndex.load(tmp_path / "i", verify=True)


def test_the_store_of_vectors_is_in_the_cache(tmp_path):
    assert VectorStore().path == tmp_path / "cache" / "labelspan" / "vectors.sqlite"
