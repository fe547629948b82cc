"""Transformers in a folder: by onnxruntime and tokenizers, or by sentence-transformers.

What the model's files say is followed: ``modules.json`` and the folder of its pooling,
``sentence_bert_config.json`` (longest text), ``config_sentence_transformers.json`` (prompts).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._install import install_command, needed
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, MissingData
from .text_model import TextModel

__all__ = ["OnnxModel", "SentenceModel", "open_transformer"]

# Longest text in tokens if the files of the model name none.
_LONGEST = 512
# Tokens of one batch: on the host what its caches hold (all-MiniLM-L6-v2 encodes 160 titles per CPU
# second, 77 with 8,192 tokens), on a GPU enough to keep it busy.
_TOKENS, _TOKENS_GPU = 1 << 9, 1 << 13
# Largest length that is meant: some files have 1e30 for "any".
_ANY = 1 << 20
_QUERY, _DOCUMENT = ("query",), ("document", "passage", "corpus")
_POOLINGS = ("cls_token", "lasttoken", "max_tokens", "mean_sqrt_len_tokens", "mean_tokens")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class ModelFiles(NamedTuple):
    """What the files of a model say: how vectors are pooled, prompts, and the longest text."""

    pooling: str
    normalize: bool
    query: str
    document: str
    longest: int
    # Kinds of steps after the pooling that onnxruntime does not do, for example Dense.
    others: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> ModelFiles:
        """Read the files in a folder."""
        modules = _json(folder / "modules.json", list) or []
        pooling, normalize, others = "mean_tokens", False, []
        for module in modules:
            kind = str(module.get("type", "")).rpartition(".")[2]
            if kind == "Pooling":
                pooling = _pooling(folder / str(module.get("path", "1_Pooling")))
            elif kind == "Normalize":
                normalize = True
            elif kind != "Transformer":
                others.append(kind)
        sentence = _json(folder / "config_sentence_transformers.json", dict) or {}
        prompts = sentence.get("prompts") or {}
        usual = prompts.get(sentence.get("default_prompt_name") or "", "")
        return cls(
            pooling,
            normalize,
            next((str(prompts[one]) for one in _QUERY if one in prompts), usual),
            next((str(prompts[one]) for one in _DOCUMENT if one in prompts), usual),
            _longest(folder),
            tuple(others),
        )


def _json(path: Path, kind: type) -> Any:
    """Return the content of a file of the model; None if there is none."""
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFile(f"{path} cannot be read: {error}; get the model again.") from error
    if not isinstance(found, kind):
        raise InvalidFile(f"{path} is not a file of a model; get the model again.")
    return found


def _pooling(folder: Path) -> str:
    config = _json(folder / "config.json", dict) or {}
    if "pooling_mode" in config:
        named = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens"}
        asked = config["pooling_mode"]
        chosen = [named.get(one, one) for one in ([asked] if isinstance(asked, str) else asked)]
    else:
        modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
        chosen = [mode.removeprefix("pooling_mode_") for mode in modes] or ["mean_tokens"]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise InvalidInput(
            f"{folder}: pooling by {', '.join(map(str, chosen))} is not supported with ONNX; "
            "install sentence-transformers and remove the folder onnx, or use another model."
        )
    return str(chosen[0])


def _longest(folder: Path) -> int:
    """Return the largest number of tokens of a text: the smallest that the files name."""
    names = {
        "sentence_bert_config.json": "max_seq_length",
        "tokenizer_config.json": "model_max_length",
        "config.json": "max_position_embeddings",
    }
    # The first was written for sentences; the others are limits of the architecture.
    for file, key in names.items():
        value = (_json(folder / file, dict) or {}).get(key)
        if isinstance(value, int | float) and 2 <= value < _ANY:
            return int(value)
    return _LONGEST


def open_transformer(folder: Path, name: str, device: str | None = None) -> TextModel:
    """Open the model in a folder: by onnxruntime if it has an ONNX file."""
    file = _onnx_file(folder)
    if file is not None:
        return OnnxModel(file, folder, name, device)
    if find_spec("sentence_transformers") is None:
        raise MissingData(
            f"{folder} has no onnx/model.onnx, and sentence-transformers is not installed; export "
            "the model to ONNX, or pip install sentence-transformers."
        )
    return SentenceModel(folder, name, device)


def _onnx_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model, the plain one if there are several."""
    found = [*folder.glob("onnx/model*.onnx"), *folder.glob("model*.onnx")]
    return min(found, key=lambda path: (len(path.name), str(path)), default=None)


class OnnxModel(TextModel):
    """A transformer by onnxruntime."""

    def __init__(self, file: Path, folder: Path, name: str, device: str | None = None) -> None:
        runtime = needed(f"The model {name!r}", "onnxruntime", "model")
        tokenizers = needed(f"The model {name!r}", "tokenizers", "model")
        self.name = name
        self.about = about = ModelFiles.read(folder)
        if not (folder / "tokenizer.json").is_file():
            raise MissingData(f"{folder} has no tokenizer.json; get the model again, with it.")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the package raises no more specific error
            raise InvalidFile(f"{folder / 'tokenizer.json'} is damaged: {error}.") from error
        self._tokenizer.enable_truncation(about.longest)
        self._tokenizer.no_padding()
        try:
            self._session = runtime.InferenceSession(
                str(file), _options(runtime), providers=_providers(runtime, device)
            )
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidFile(f"{file} is not a model that onnxruntime can run: {error}") from error
        on_host = self._session.get_providers()[0] == "CPUExecutionProvider"
        self._tokens = _TOKENS if on_host else _TOKENS_GPU
        self._inputs = [one.name for one in self._session.get_inputs()]
        unknown = sorted({*self._inputs} - {*_INPUTS})
        outputs = {one.name: len(one.shape or ()) for one in self._session.get_outputs()}
        # A model that was exported with its pooling gives one vector per text.
        whole = [key for key, rank in outputs.items() if rank == 2]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else ""
        self._output = self._output or next(iter(whole or outputs), "")
        self._pooled = self._output in whole
        if unknown or "input_ids" not in self._inputs or not self._output:
            raise InvalidInput(
                f"{file} needs inputs that labelspan does not have ({', '.join(unknown)}); "
                "use a model that turns texts into vectors."
            )
        if about.others and not self._pooled:
            raise InvalidInput(
                f"{folder} has steps after pooling ({', '.join(about.others)}) that the ONNX file "
                "does not do; export it with them, or remove the folder onnx and install "
                "sentence-transformers."
            )

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        prompt = self.about.query if query else self.about.document
        encoded = self._tokenizer.encode_batch([prompt + text for text in texts])
        lengths = np.array([len(one.ids) for one in encoded])
        rows: list[Array] = []
        order = np.argsort(lengths, kind="stable")
        for part in _parts(order, lengths, self._tokens):
            rows.append(self._run([encoded[n] for n in part.tolist()]))
        found = np.concatenate(rows)
        out = np.empty_like(found)
        out[order] = found
        return out

    def _run(self, encoded: list[Any]) -> Array:
        """Return the vectors of texts of about the same length."""
        width = max(1, *(len(one.ids) for one in encoded))
        ids, mask, types = np.zeros((3, len(encoded), width), dtype=np.int64)
        for row, one in enumerate(encoded):
            count = len(one.ids)
            ids[row, :count], mask[row, :count], types[row, :count] = one.ids, 1, one.type_ids
        given = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        rows = np.asarray(found, dtype=np.float32)
        if rows.ndim == 3:
            rows = _pooled(rows, mask, self.about.pooling)
        return _unit(rows) if self.about.normalize else rows


def _parts(order: Array, lengths: Array, most: int) -> list[Array]:
    """Split texts that are sorted by length into batches of at most some tokens."""
    parts, start = [], 0
    while start < order.size:
        stop = start + 1
        while stop < order.size and (stop + 1 - start) * lengths[order[stop]] <= most:
            stop += 1
        parts.append(order[start:stop])
        start = stop
    return parts


def _pooled(states: Array, mask: Array, pooling: str) -> Array:
    """Return one vector per text from those of its tokens."""
    if pooling == "cls_token":
        return np.asarray(states[:, 0])
    last = np.maximum(mask.sum(axis=1) - 1, 0)
    if pooling == "lasttoken":
        return np.asarray(states[np.arange(len(states)), last])
    inside = mask[:, :, None].astype(np.float32)
    if pooling == "max_tokens":
        return np.asarray(np.where(inside > 0, states, -np.inf).max(axis=1), dtype=np.float32)
    counts = np.maximum(inside.sum(axis=1), 1e-9)
    counts = np.sqrt(counts) if pooling == "mean_sqrt_len_tokens" else counts
    return np.asarray(np.einsum("btd,bt->bd", states, inside[:, :, 0]) / counts, dtype=np.float32)


def _unit(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def _options(runtime: Any) -> Any:
    from ..operators.machine import n_threads  # noqa: PLC0415 - scikit-learn is slow to import

    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads()
    options.log_severity_level = 3
    return options


def _providers(runtime: Any, device: str | None) -> list[str]:
    """Return the providers of onnxruntime for a device."""
    if device is None or device == "cpu":
        return ["CPUExecutionProvider"]
    if not device.startswith("cuda"):
        raise InvalidInput(f"The device {device!r} is not supported for ONNX; use cuda or cpu.")
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        raise InvalidInput(
            "This onnxruntime cannot use CUDA; pip install onnxruntime-gpu, or omit the device."
        )
    return ["CUDAExecutionProvider", "CPUExecutionProvider"]


@contextmanager
def _quiet() -> Iterator[None]:
    """Let transformers draw no bar while it loads weights."""
    logging: Any = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


class SentenceModel(TextModel):
    """A transformer by sentence-transformers."""

    def __init__(self, folder: Path, name: str, device: str | None = None) -> None:
        package = needed(f"The model {name!r}", "sentence_transformers")
        self.name = name
        try:
            with _quiet():
                self._model = package.SentenceTransformer(
                    str(folder), device=device, local_files_only=True
                )
        except Exception as error:  # whatever torch and transformers raise
            raise InvalidFile(
                f"{folder} is not a model that sentence-transformers can load: {error!s:.300}; "
                f"or install onnxruntime for its ONNX file: {install_command('model')}."
            ) from error
        prompts = dict(self._model.prompts or {})
        self._query = next((prompts[one] for one in _QUERY if prompts.get(one)), None)
        self._document = next((prompts[one] for one in _DOCUMENT if prompts.get(one)), None)

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        prompt = self._query if query else self._document
        return self._model.encode(texts, prompt=prompt, show_progress_bar=False, batch_size=32)
