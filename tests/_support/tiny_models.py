"""Tiny language models, made in the tests: a transformer in ONNX, and a server of embeddings."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

WORDS = ["[PAD]", "[UNK]", "[CLS]", "car", "automobile", "engine", "cake", "pastry", "oven"]
WORDS += ["query:", "passage:", "old", "sweet"]
# What a word is about: traffic, food, age, prompts, and noise.
MEANING = {
    "car": (1, 0.0),
    "automobile": (1, 0.1),
    "engine": (0.9, 0.1),
    "cake": (0, 1.0),
    "pastry": (0.1, 1),
    "oven": (0.1, 0.9),
}


def word_rows(size=8, seed=0):
    """A row for each word, similar for words with similar meanings."""
    rows = 0.1 * np.random.default_rng(seed).standard_normal((len(WORDS), size))
    for word, own in MEANING.items():
        rows[WORDS.index(word), :2] += own
    return rows.astype("f4")


def tokenizer(folder, *, start=True):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if start:
        made.post_processor = processors.TemplateProcessing("[CLS] $A", None, [("[CLS]", 2)])
    made.save(str(folder / "tokenizer.json"))


def onnx_model(folder, *, seed=0, size=8, pooling="mean_tokens", prompts=None, **more):
    """Write a transformer whose states are the rows of its tokens."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "onnx").mkdir()
    tokenizer(folder)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    states = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", size]
    )
    graph = helper.make_graph(
        [helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])],
        "tiny",
        inputs,
        [states],
        [numpy_helper.from_array(word_rows(size, seed), "rows")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    onnx.save(made, str(folder / "onnx" / "model.onnx"))
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    described = [
        {"idx": n, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(modules)
    ]
    write(folder / "modules.json", described)
    (folder / "1_Pooling").mkdir()
    write(folder / "1_Pooling" / "config.json", {f"pooling_mode_{pooling}": True})
    write(folder / "config.json", {"model_type": "bert", "max_position_embeddings": 512, **more})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 6})
    if prompts:
        write(folder / "config_sentence_transformers.json", {"prompts": prompts})
    return folder


def static_model(folder, *, normalize=True):
    """Write a folder as model2vec does."""
    import struct

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer(folder, start=False)
    rows = word_rows()
    told = {"dtype": "F32", "shape": list(rows.shape), "data_offsets": [0, rows.nbytes]}
    head = json.dumps({"embeddings": told}).encode()
    content = struct.pack("<Q", len(head)) + head + rows.tobytes()
    (folder / "model.safetensors").write_bytes(content)
    write(folder / "config.json", {"model_type": "model2vec", "normalize": normalize})
    return folder


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")


class Server:
    """What a server of embeddings was asked, and how it answers."""

    def __init__(self, size=4):
        self.asked, self.size, self.keys = [], size, []
        # Answers before the right one, each a function of the request's body.
        self.first = []
        self.delay = 0.0

    def answer(self, body):
        rows = [
            {"index": n, "embedding": self.vector(text)} for n, text in enumerate(body["input"])
        ]
        return 200, {}, {"data": rows[::-1]}

    def vector(self, text):
        found = np.full(self.size, 0.01)
        for word in text.lower().split():
            traffic, food = MEANING.get(word, (0, 0))
            found[0] += traffic
            found[1] += food
        found[2] += len(text) / 100
        return found.tolist()


@contextmanager
def embedding_server(server=None, port=0):
    """Serve ``/v1/embeddings`` on this machine; yields the address and the server."""
    state = server or Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(state.delay)
            state.asked.append((self.path, body))
            state.keys.append(self.headers.get("Authorization"))
            code, headers, content = (state.first.pop(0) if state.first else state.answer)(body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}/v1", state
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
