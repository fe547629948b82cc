"""Transformers in folders: what their files say is followed, by onnxruntime."""

import numpy as np
import pytest
from _support.tiny_models import WORDS, onnx_model, static_model, word_rows, write

from labelspan.errors import InvalidFile, InvalidInput, MissingData
from labelspan.models import open_model

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")


def expected(text, *, pooling="mean", longest=6):
    rows = word_rows()
    ids = [2, *(WORDS.index(w) if w in WORDS else 1 for w in text.split())][:longest]
    states = rows[ids]
    found = {"mean": states.mean(0), "cls": states[0], "max": states.max(0), "last": states[-1]}
    vector = found[pooling]
    return vector / np.linalg.norm(vector)


def test_vectors_are_means_of_unit_length_whatever_the_order_and_lengths(tmp_path):
    model = open_model(onnx_model(tmp_path / "m"))
    texts = ["car engine", "cake", "", "old car engine sweet cake oven pastry", "unknown words"]
    found = model.vectors(texts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [expected(text) for text in texts], atol=1e-6)
    np.testing.assert_allclose(model.vectors(texts[::-1])[::-1], found, atol=1e-6)
    assert model.size == 8
    assert model.name == str(tmp_path / "m")


@pytest.mark.parametrize(
    ("mode", "pooling"), [("cls_token", "cls"), ("max_tokens", "max"), ("lasttoken", "last")]
)
def test_pooling_is_that_of_the_files(tmp_path, mode, pooling):
    model = open_model(onnx_model(tmp_path / "m", pooling=mode))
    texts = ["car engine", "sweet cake oven"]
    wanted = [expected(text, pooling=pooling) for text in texts]
    np.testing.assert_allclose(model.vectors(texts), wanted, atol=1e-6)


def test_prompts_are_those_of_the_files(tmp_path):
    prompts = {"query": "query: ", "passage": "passage: "}
    model = open_model(onnx_model(tmp_path / "m", prompts=prompts))
    np.testing.assert_allclose(model.vectors(["car"])[0], expected("passage: car"), atol=1e-6)
    asked = model.vectors(["car"], query=True)[0]
    np.testing.assert_allclose(asked, expected("query: car"), atol=1e-6)


def test_the_longest_text_is_that_of_the_files(tmp_path):
    folder = onnx_model(tmp_path / "m")
    write(folder / "sentence_bert_config.json", {"max_seq_length": 3})
    found = open_model(folder).vectors(["car engine cake cake cake"])[0]
    np.testing.assert_allclose(found, expected("car engine", longest=3), atol=1e-6)


def test_a_name_is_found_in_the_cache_of_the_hub(tmp_path, monkeypatch):
    hub = tmp_path / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    with pytest.raises(MissingData, match=r"local cache of the hub.*--download"):
        open_model("tiny")
    folder = hub / "models--sentence-transformers--tiny"
    onnx_model(folder / "snapshots" / "abc")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    model = open_model("tiny")
    assert model.name == "tiny"
    assert model.vectors(["car"]).shape == (1, 8)
    assert open_model("sentence-transformers/tiny").vectors(["car"]).shape == (1, 8)


def test_a_download_takes_the_onnx_file_only(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    asked = {}
    folder = onnx_model(tmp_path / "m")

    class Api:
        def list_repo_files(self, name):
            return ["onnx/model.onnx", "model.safetensors"] if name.endswith("tiny") else 1 / 0

    def snapshot(name, allow_patterns):
        asked[name] = allow_patterns
        return str(folder)

    monkeypatch.setattr(hub, "HfApi", Api)
    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    assert open_model("tiny", download=True).name == "tiny"
    assert asked == {
        "sentence-transformers/tiny": [
            *("*.json", "*.txt", "*.model", "*/config.json"),
            "onnx/model.onnx*",
        ]
    }
    with pytest.raises(MissingData, match="'org/other' cannot be downloaded"):
        open_model("org/other", download=True)


@pytest.mark.parametrize("broken", ["onnx/model.onnx", "tokenizer.json", "modules.json"])
def test_damaged_files_are_errors_that_name_them(tmp_path, broken):
    folder = onnx_model(tmp_path / "m")
    (folder / broken).write_bytes(b"{ no")
    with pytest.raises(InvalidFile, match=broken.rpartition("/")[2]):
        open_model(folder)


def test_what_cannot_run_here_is_an_error(tmp_path):
    with pytest.raises(MissingData, match="no folder or file"):
        open_model("../no/such folder")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingData, match=r"config\.json"):
        open_model(tmp_path / "empty")
    (tmp_path / "table.csv").write_text("a,b")
    with pytest.raises(InvalidInput, match="word2vec"):
        open_model(tmp_path / "table.csv")
    folder = onnx_model(tmp_path / "m", pooling="weightedmean_tokens")
    with pytest.raises(InvalidInput, match="weightedmean_tokens is not supported"):
        open_model(folder)
    folder = onnx_model(tmp_path / "d")
    write(folder / "modules.json", [{"type": "sentence_transformers.models.Dense"}])
    with pytest.raises(InvalidInput, match="Dense"):
        open_model(folder)
    with pytest.raises(InvalidInput, match="cannot use CUDA"):
        open_model(onnx_model(tmp_path / "c"), device="cuda")


def test_the_device_is_that_which_was_asked_for(tmp_path, monkeypatch):
    """With a runtime that says it has CUDA, but runs on the host."""
    import onnxruntime

    folder, asked = onnx_model(tmp_path / "m"), []
    on_host = open_model(folder)
    session = onnxruntime.InferenceSession

    class OnDevice(session):
        def __init__(self, file, options, providers):
            asked.append(providers)
            super().__init__(file, options, providers=["CPUExecutionProvider"])

        def get_providers(self):
            return asked[-1]

    here = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: here)
    monkeypatch.setattr(onnxruntime, "InferenceSession", OnDevice)
    on_device = open_model(folder, device="cuda")
    assert asked == [here]
    assert on_device._tokens > on_host._tokens
    texts = ["old car", "cake", "a sweet pastry"]
    np.testing.assert_array_equal(on_device.vectors(texts), on_host.vectors(texts))


def test_a_folder_of_model2vec(tmp_path):
    model = open_model(static_model(tmp_path / "s"))
    rows = word_rows()
    mean = rows[[WORDS.index("car"), WORDS.index("cake")]].mean(0)
    found = model.vectors(["car cake nothing", "nothing"])
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert not found[1].any()


def test_the_same_vectors_as_model2vec(tmp_path):
    reference = pytest.importorskip("model2vec")
    folder = static_model(tmp_path / "s")
    texts = ["car cake nothing", "old engine", "sweet pastry oven"]
    theirs = reference.StaticModel.from_pretrained(str(folder)).encode(texts)
    np.testing.assert_allclose(open_model(folder).vectors(texts), theirs, atol=1e-6)


def test_without_onnx_sentence_transformers_runs_a_folder(tmp_path, capsys):
    package = pytest.importorskip("sentence_transformers")
    models = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    transformers = pytest.importorskip("transformers")
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join([*WORDS[:3], "[SEP]", *WORDS[3:9], "query", ":"]))
    config = transformers.BertConfig(
        vocab_size=12,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    folder = tmp_path / "bert"
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab_file=str(vocabulary)).save_pretrained(folder)
    parts = [models.Transformer(str(folder)), models.Pooling(8)]
    made = package.SentenceTransformer(modules=parts, prompts={"query": "query: "})
    made.save(str(tmp_path / "m"))
    capsys.readouterr()
    model = open_model(tmp_path / "m")
    assert "Loading" not in capsys.readouterr().err
    texts = ["car engine", "sweet pastry oven"]
    np.testing.assert_allclose(model.vectors(texts), made.encode(texts), atol=1e-5)
    asked = model.vectors(texts, query=True)
    np.testing.assert_allclose(asked, made.encode(texts, prompt="query: "), atol=1e-5)
    assert not np.allclose(asked, made.encode(texts), atol=1e-3)
