"""Word vectors of files, their means as features, and indexes that use them."""

import gzip
import json
import struct

import numpy as np
import pytest
from typer.testing import CliRunner

from labelspan import SemanticIndex
from labelspan.cli import app
from labelspan.errors import InvalidFile, InvalidInput, Mismatch, MissingData
from labelspan.text import SPACE, FeatureCounts, Vocabulary
from labelspan.text.static_vectors import PooledVectors, word_vectors

WORDS = ["car", "automobile", "engine", "cake", "pastry", "oven", "Oslo", "flour"]
ROWS = np.array(
    [[2, 0.1], [2, 0.2], [1.5, 0.25], [0.1, 2], [0.2, 2], [0.3, 1.5], [-1, -1], [0, 1]], dtype="f4"
)
TEXTS = ["old car", "automobile engine", "sweet cake", "pastry oven", "car engine", "cake oven"]
LABELS = [["traffic"], ["traffic"], ["food"], ["food"], ["traffic"], ["food"]]


def safetensors(path, matrix, cut=0, **header):
    described = {"dtype": {"f2": "F16", "f4": "F32"}[matrix.dtype.str[1:]]}
    described |= {"shape": list(matrix.shape), "data_offsets": [0, matrix.nbytes], **header}
    told = json.dumps({"embedding.weight": described}).encode()
    content = struct.pack("<Q", len(told)) + told + matrix.tobytes()
    path.write_bytes(content[: len(content) - cut])
    return path


def text_file(path, header=True, words=WORDS, rows=ROWS):
    lines = [f"{len(words)} {rows.shape[1]}"] if header else []
    lines += [f"{word} {' '.join(map(repr, row.tolist()))}" for word, row in zip(words, rows)]  # noqa: B905
    content = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def vectors(tmp_path):
    return text_file(tmp_path / "vectors.txt")


def written(kind, folder):
    """Write the same vectors in one of the formats."""
    names = "".join(f"{word}\n" for word in WORDS)
    if kind in ("text", "gzip"):
        return text_file(folder / ("v.txt" if kind == "text" else "v.vec.gz"), kind == "text")
    if kind == "npy":
        np.save(folder / "v.npy", ROWS.astype("f8"))
        (folder / "v.txt").write_text(names)
        return folder / "v.npy"
    path = safetensors(folder / "v.safetensors", ROWS)
    listed = {word: row for row, word in enumerate(WORDS)} if kind == "mapping" else WORDS
    if kind == "lines":
        (folder / "v.safetensors.vocab.txt").write_bytes(names.replace("\n", "\r\n").encode())
    else:
        (folder / "v.safetensors.vocab.json").write_text(json.dumps(listed))
    return path


@pytest.mark.parametrize("kind", ["text", "gzip", "npy", "lines", "list", "mapping"])
def test_formats(kind, tmp_path):
    places, found = word_vectors(
        written(kind, tmp_path), ["oslo", "unknown", "cake", "car", "flour"]
    )
    assert places.tolist() == [0, 2, 3, 4]
    np.testing.assert_array_equal(found, ROWS[[6, 3, 0, 7]])
    assert found.dtype == np.float32


def test_a_word_has_its_own_vector_before_that_of_another_case(tmp_path):
    words = ["CAR", "car", "Car", "new york", "OSLO", "oslo", "oslo", "flour"]
    places, found = word_vectors(
        text_file(tmp_path / "v.txt", words=words), ["new", "car", "oslo", "york"]
    )
    assert places.tolist() == [1, 2]
    np.testing.assert_array_equal(found, ROWS[[1, 5]])


def test_tokens_of_a_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizer needs its package")
    pieces = {"[UNK]": 0, "car": 1, "##s": 2, "cake": 3}
    model = tokenizers.models.WordPiece(pieces, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.enable_padding(length=5, pad_id=3, pad_token="cake")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    path = safetensors(tmp_path / "v.safetensors", ROWS[:4].astype("f2"))
    places, found = word_vectors(path, ["zebra", "cars", "cake"])
    assert places.tolist() == [1, 2]
    half = ROWS.astype("f2").astype("f4")
    np.testing.assert_array_equal(found, [(half[1] + half[2]) / 2, half[3]])
    with pytest.raises(InvalidFile, match="has 4 tokens, but there are 3 vectors"):
        word_vectors(safetensors(path, ROWS[:3]), ["cars"])
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "none"}}')
    with pytest.raises(InvalidFile, match="is not a tokenizer"):
        word_vectors(path, ["cars"])


def bad_files(folder):
    """Yield files that cannot be used, with the error."""
    text = folder / "v.txt"

    def lines(content, error):
        text.write_text(content)
        return text, InvalidFile, error

    yield folder / "none.txt", MissingData, "no file"
    (folder / "v.bin").write_bytes(b"1 1\nx\x00\x00")
    yield folder / "v.bin", InvalidInput, "convert it"
    yield lines("car 1 2\ncake 1\n", "line 2: expected a word and 2 numbers")
    yield lines("car 1 2\ncake 1 x\n", "line 2: could not convert")
    yield lines("car 1 nan\n", "line 1 contains NaN")
    yield lines("car 1 1e39\n", "line 1 contains NaN or infinity")
    yield lines("3 2\ncar 1 2\ncake 1 2\n", "cut off: it has 2 of 3 words")
    packed = gzip.compress(b"car 1 2\n" * 1000)
    (folder / "v.gz").write_bytes(packed[:-12])
    yield folder / "v.gz", InvalidFile, "cannot be read"
    (folder / "w.gz").write_bytes(b"car 1 2\n")
    yield folder / "w.gz", InvalidFile, "cannot be read"
    path = safetensors(folder / "a.safetensors", ROWS)
    yield path, MissingData, "no vocabulary next to it"
    vocabulary = folder / "a.safetensors.vocab.json"
    for content, error in (
        ("[", "is not JSON"),
        ('["car"]', "must name the word of each of the 8 rows"),
        ('{"car": 8}', "must name"),
        ('{"car": true}', "must name"),
        ("3", "must name"),
    ):
        vocabulary.write_text(content)
        yield path, InvalidFile, error
    vocabulary.write_text(json.dumps(WORDS))
    yield safetensors(path, ROWS, cut=4), InvalidFile, "cut off"
    yield safetensors(path, ROWS, shape=[16]), InvalidInput, "exactly one array"


def test_bad_files(tmp_path):
    checked = 0
    for path, error, message in bad_files(tmp_path):
        with pytest.raises(error, match=message):
            word_vectors(path, ["car", "cake"])
        checked += 1
    assert checked == 17


def test_features_are_centred_means(vectors):
    texts = ["car car cake", "zebra", "", "oven, OSLO! engine zebra", "pastry"]
    vocabulary = Vocabulary("en")
    block = vocabulary.number(texts)
    parts = [block.take(np.array([0, 1])), block.take(np.array([2, 3, 4]))]
    static = PooledVectors.learn(vectors, vocabulary, lambda: parts)
    means = np.array([(2 * ROWS[0] + ROWS[3]) / 3, ROWS[[2, 5, 6]].mean(axis=0), ROWS[4]])
    wanted = means - means.mean(axis=0)
    wanted *= 0.5 / np.linalg.norm(wanted, axis=1, keepdims=True)
    found = static.transform(block).toarray()
    # The vectors are kept with 11 bits.
    np.testing.assert_allclose(found[[0, 3, 4]], wanted, atol=2e-3)
    assert not found[[1, 2]].any()
    counts = FeatureCounts(vocabulary, SPACE)
    counts.add(block)
    plain, both = counts.choose(), counts.choose(static)
    assert (both.size, both.names) == (plain.size + 2, plain.names)
    rows = both.transform(block).toarray()
    np.testing.assert_array_equal(rows[:, :-2], plain.transform(block).toarray())
    np.testing.assert_array_equal(rows[:, -2:], found)
    np.testing.assert_array_equal(both.of_texts(texts).toarray(), rows)


def test_the_unit_of_the_vectors_has_no_effect(vectors, tmp_path):
    vocabulary = Vocabulary("en")
    block = vocabulary.number(TEXTS)
    found = [
        PooledVectors.learn(path, vocabulary, lambda: [block]).transform(block).toarray()
        for path in (vectors, text_file(tmp_path / "large.txt", rows=ROWS * np.float32(2**70)))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_a_synonym_without_a_common_word_is_found(vectors, tmp_path):
    texts = ["red car", "cake", "blue car", "cake", "green garden", "automobile pastry"]
    labels = [["a"], ["b"], ["a"], ["b"], ["c"], None]
    ids = ["car", "cake", "car2", "cake2", "garden", "words"]
    plain = SemanticIndex(language="en").fit(texts, labels, ids)
    index = SemanticIndex(language="en", static=vectors).fit(texts, labels, ids)
    ranks = {}
    for name, one in (("without", plain), ("with", index)):
        scores = {hit.id: hit.score for hit in one.search("automobile", k=6)}
        ranks[name] = scores.get("car", 0.0) - scores.get("cake", 0.0)
    assert ranks["with"] > 0.05 > abs(ranks["without"])
    tags = {tag.label: tag.probability for tag in index.tag("automobile")}
    assert tags["a"] > tags["b"]


def test_saved_index_needs_no_file(vectors, tmp_path):
    index = SemanticIndex(static=str(vectors)).fit(TEXTS, LABELS)
    index.add(["an automobile"], [["traffic"]], ["new"])
    folder = tmp_path / "a.labelspan"
    index.save(folder)
    vectors.unlink()
    with SemanticIndex.load(folder, verify=True) as again:
        for query in ("automobile", "pastry engine", "zebra"):
            found, wanted = again.search(query), index.search(query)
            assert [(hit.id, hit.score) for hit in found] == [(h.id, h.score) for h in wanted]
            assert again.tag(query) == index.tag(query)
    # Words only: the vectors have no names.
    known = set(" ".join([*TEXTS, "an"]).split())
    said = [word for axis in index.axes(10) for word, _ in (*axis.words.low, *axis.words.high)]
    said += [one.word for one in index.explain("car engine", "4", n=50).words]
    said += [one.word for one in index.explain_tag("traffic", "car engine", n=50).words]
    assert said
    assert set(" ".join(said).split()) <= known
    (file,) = folder.glob("generation-*/static.arrays")
    content = bytearray(file.read_bytes())
    content[-60] ^= 1
    file.write_bytes(content)
    with pytest.raises(InvalidFile):
        SemanticIndex.load(folder, verify=True)


def test_refused(vectors, tmp_path):
    with pytest.raises(InvalidFile, match="no vector for any word of the texts"):
        SemanticIndex(static=vectors).fit(["zebra", "yak"], [["a"], ["b"]])
    with pytest.raises(MissingData, match="no file"):
        SemanticIndex(static=tmp_path / "none.txt").fit(TEXTS, LABELS)
    for given in ({"vectors": np.eye(6)}, {"encoder": lambda texts: np.eye(len(texts))}):
        with pytest.raises(Mismatch, match="static= is used next to words"):
            SemanticIndex(static=vectors).fit(TEXTS, LABELS, **given)


def test_command_in_memory_and_in_blocks(vectors, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    rows = zip(TEXTS, LABELS, strict=True)
    corpus.write_text("".join(json.dumps({"text": t, "labels": own}) + "\n" for t, own in rows))
    scores = []
    for option in ("--no-stream", "--stream"):
        out = tmp_path / f"{option}.labelspan"
        given = ["fit", str(corpus), "--out", str(out), option, "--static", str(vectors)]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        with SemanticIndex.load(out) as index:
            scores.append({hit.id: hit.score for hit in index.search("automobile cake", k=6)})
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)
    given = ["fit", str(corpus), "--out", str(tmp_path / "no"), "--static", str(tmp_path / "no")]
    result = CliRunner().invoke(app, given)
    assert result.exit_code != 0
    assert "There is no file" in result.output
    assert not (tmp_path / "no").exists()
