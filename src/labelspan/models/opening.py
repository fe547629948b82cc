"""Find a model by its name in the local cache, by a folder or file, or by a server's address."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._install import needed
from ..errors import InvalidInput, MissingData
from .embedding_server import ServerModel
from .text_model import TextModel

__all__ = ["cached_models", "is_server", "open_model"]

# Organisation of the models that are known by their last name.
_USUAL = "sentence-transformers"
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
# Word vectors as text.
_TEXT = (".txt", ".vec", ".gz")
# Files of a model that are downloaded: not weights for other libraries.
_WANTED = ("*.json", "*.txt", "*.model", "*/config.json")


def is_server(name: str) -> bool:
    """Return whether a name is the address of a server."""
    return name.startswith(("http://", "https://"))


def open_model(
    name: str | os.PathLike[str], *, device: str | None = None, download: bool = False
) -> TextModel:
    """Open a language model.

    Parameters
    ----------
    name : str or path
        ``http://127.0.0.1:11434/v1#nomic-embed-text``: a server that speaks ``/v1/embeddings``,
        and its model. A folder with a transformer (ONNX, or for sentence-transformers) or a model
        of model2vec. A file of word vectors in the text format of word2vec. Otherwise a name in the
        local cache of the hub, for example ``all-MiniLM-L6-v2``.
    device : str or None, default=None
        Where a transformer runs, for example "cuda".
    download : bool, default=False
        Whether a model that is not in the local cache may be downloaded.

    Returns
    -------
    TextModel
        With ``vectors(texts)``.

    Raises
    ------
    MissingData
        If there is no such model, or a package that it needs.
    """
    given = os.fspath(name)
    if is_server(given):
        return ServerModel(given)
    path = Path(given).expanduser()
    if path.is_file():
        if path.suffix.lower() not in _TEXT:
            raise InvalidInput(
                f"{path}: word vectors are read from text in the format of word2vec (.txt, .vec, "
                ".gz), models from folders; give one of them."
            )
        from .word_vectors import WordVectors  # noqa: PLC0415 - searches do without it

        return WordVectors(path.resolve())
    if path.is_dir():
        return _open_folder(path.resolve(), str(path.resolve()), device)
    if not _NAME.fullmatch(given):
        raise MissingData(f"There is no folder or file {given!r} of a model; correct the path.")
    folder = find_cached(given)
    if folder is None and download:
        folder = _downloaded(given)
    if folder is None:
        raise MissingData(
            f"The model {given!r} is neither a folder nor in the local cache of the hub "
            f"({hub_cache()}); give its folder, or allow a download (--download)."
        )
    return _open_folder(folder, given, device)


def _open_folder(folder: Path, name: str, device: str | None) -> TextModel:
    from .word_vectors import TokenVectors  # noqa: PLC0415

    if TokenVectors.fits(folder):
        return TokenVectors(folder, name)
    from .transformer import open_transformer  # noqa: PLC0415

    if not (folder / "config.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise MissingData(f"{folder} has no model in it: there is no config.json; correct it.")
    return open_transformer(folder, name, device)


def hub_cache() -> Path:
    """Return the folder in which packages of Hugging Face keep what they downloaded."""
    if "HF_HUB_CACHE" in os.environ:
        return Path(os.environ["HF_HUB_CACHE"])
    home = os.environ.get("HF_HOME")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(home) if home else cache / "huggingface") / "hub"


def cached_models() -> list[str]:
    """Return the names of the models for sentences in the local cache, sorted.

    Without a package that runs them there are none.
    """
    if not any(find_spec(one) for one in ("onnxruntime", "sentence_transformers")):
        return []
    names = (path.name.removeprefix("models--") for path in hub_cache().glob("models--*"))
    found = [name.replace("--", "/").removeprefix(f"{_USUAL}/") for name in sorted(names)]
    return [
        name
        for name in found
        if (folder := find_cached(name)) is not None and (folder / "modules.json").is_file()
    ]


def find_cached(name: str) -> Path | None:
    """Return the folder of a model in the local cache; None if it is not there."""
    cache = hub_cache()
    owners = [name] if "/" in name else [f"{_USUAL}/{name}", name]
    found = [cache / f"models--{one.replace('/', '--')}" for one in owners]
    if "/" not in name and cache.is_dir():
        found += sorted(cache.glob(f"models--*--{name}"))
    for folder in found:
        snapshots = folder / "snapshots"
        try:
            commit = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
        except OSError:
            commit = ""
        if commit and (snapshots / commit / "config.json").exists():
            return snapshots / commit
        for one in sorted(snapshots.glob("*/config.json")):
            return one.parent
    return None


def _downloaded(name: str) -> Path:
    """Download a model to the local cache: its ONNX file if it has one."""
    hub: Any = needed(f"To download {name!r}", "huggingface_hub", "model")
    whole = name if "/" in name else f"{_USUAL}/{name}"
    try:
        files = hub.HfApi().list_repo_files(whole)
        weights = "onnx/model.onnx*" if "onnx/model.onnx" in files else "*.safetensors"
        patterns = [*_WANTED, weights]
        return Path(hub.snapshot_download(whole, allow_patterns=patterns))
    except Exception as error:  # of the network, or of the hub
        raise MissingData(
            f"The model {whole!r} cannot be downloaded: {error!s:.300}; check its name and the "
            "connection."
        ) from error
