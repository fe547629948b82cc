"""Folder of a saved index: manifest, files of the current generation, and lock of the writer.

    manifest.json           names the current generation and its files; replaced in one step
    generation-0a1b2c3d/    arrays, JSON files and items.sqlite
    lock                    held by the process that writes
    map.places              cache of the layout of the map
    decisions.jsonl         decisions about labels; they stay when the index is saved again
    unfinished/             what a fit of a corpus larger than memory has done so far

A save writes a new generation next to the old one, then replaces the manifest, then deletes the
old generation: a process killed at any moment leaves the old index or the new one. Items added
later are transactions in the generation's items.sqlite. Reading never runs code from a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import sync_folder, write_whole
from .._typing import Array
from ..errors import (
    InvalidFile,
    InvalidInput,
    InvalidParameter,
    LabelspanError,
    Locked,
    MissingData,
)
from .analysis import Analyzer, check_language
from .decisions import DECISIONS_FILE
from .items import ItemStore, check_descriptors, file_size, missing_resource
from .label_places import LabelDirections
from .model import Deferred, HashedTextMap, IndexModel, TextMap
from .place_file import PLACES_FILE
from .verified_files import VerifiedFiles
from .words import WORD_ARRAYS, WordIndex

__all__ = [
    "IndexFolder",
    "PreparedFiles",
    "foreign_files",
    "parse_json",
    "read_manifest",
    "write_manifest",
]

_MANIFEST = "manifest.json"
_ITEMS = "items.sqlite"
_LOCK = "lock"
UNFINISHED = "unfinished"
_FORMAT = "labelspan-index"
_VERSION = 4
# A manifest may hold lists of words; JSON takes about twenty times its size in memory.
_LARGEST_MANIFEST = 1 << 24
_DEEPEST_MANIFEST = 20
_GENERATION = re.compile(r"generation-[0-9a-f]{8}")
_FILE = re.compile(r"[a-z_]{1,80}\.(npy|json)")
_OWN = re.compile(
    rf"{_GENERATION.pattern}|{_LOCK}(-journal)?|{UNFINISHED}"
    rf"|\.?({re.escape(_MANIFEST)}|{re.escape(PLACES_FILE)}).*|{re.escape(DECISIONS_FILE)}"
)
# Each retry follows a save between reading the manifest and reading its files.
_TRIES = 20
_TYPES = ("<f4", "<f8", "<i4", "<i8", "|u1")
# JSON is read into memory as a whole; arrays are mapped.
_LARGEST_JSON = 1 << 31
_CHUNK = 1 << 20
# First bytes of an .npy file, and the longest header that numpy reads.
_NPY_START = b"\x93NUMPY\x01\x00"
_LONGEST_HEADER = 10_000
# What is known of the arrays of the word index together.
_WORDS_FIT = "words fit"
_ESTIMATOR = "estimator_"
_DIRECTIONS, _MEANS = f"{_ESTIMATOR}label_directions", f"{_ESTIMATOR}label_means"

# Entry of the manifest for a file: size, sha256, and for arrays dtype and shape.
FileEntry = dict[str, Any]
# What a folder holds: the fitted parts, the items, and the settings of the index.
Content = tuple[IndexModel, ItemStore, dict[str, Any]]


class IndexFolder:
    """Folder that holds an index, open for reading or for writing.

    Parameters
    ----------
    path : Path
        An existing folder with an index in it, unless ``new`` is given.
    write : bool
        Whether to hold the lock of the writer.
    mapped : bool
        Whether arrays are memory-mapped, or else read into memory.
    lazy : bool
        Whether vectorizer, estimator and tagger are read when they are first needed.
    new : bool
        Whether the folder may be new, empty, or left by a save that was killed.
    """

    def __init__(
        self,
        path: Path,
        *,
        write: bool = False,
        mapped: bool = True,
        lazy: bool = False,
        new: bool = False,
    ) -> None:
        self.path = path
        self.generation = ""
        self._mapped = mapped
        self._lazy = lazy
        self._sha256 = ""
        self._known: VerifiedFiles | None = None
        self._created = not path.exists()
        if new:
            _prepare(path)
        else:
            read_manifest(path)
        self._lock = _WriteLock(path) if write else None

    @property
    def writable(self) -> bool:
        """Whether this object holds the lock of the writer."""
        return self._lock is not None

    def read(self, *, verify: bool) -> Content:
        """Read the current generation; start again if a save replaces it meanwhile."""
        content = read_manifest(self.path)
        for _ in range(_TRIES):
            generation = _generation_folder(self.path, content)
            # A lazy index answers a few questions: to verify it again would take most of the time.
            known = VerifiedFiles(generation) if self._lazy and verify else None
            try:
                found = _read_generation(
                    generation,
                    content,
                    write=self.writable,
                    verify=verify,
                    mapped=self._mapped,
                    lazy=self._lazy,
                    known=known,
                )
            except (OSError, InvalidFile) as error:
                newer = read_manifest(self.path)
                if newer.get("generation") == content.get("generation"):
                    if isinstance(error, LabelspanError):
                        raise
                    raise _unreadable(error, error.filename or generation) from error
                content = newer
            else:
                self.generation, self._known = generation.name, known
                self._sha256 = content["files"]["vectors.npy"]["sha256"]
                return found
        raise InvalidFile(f"{self.path} is written too often to be read; try again later.")

    def write(self, model: IndexModel, store: ItemStore, settings: dict[str, Any]) -> None:
        """Write a new generation and make it the current one; on failure change nothing."""
        key = secrets.token_hex(4)
        made = self.path / f"generation-{key}"

        def write() -> dict[str, Any]:
            made.mkdir()
            return _write_generation(made, key, model, store, settings)

        self._replace(made, key, write)

    def adopt(
        self, prepared: PreparedFiles, model: IndexModel, language: str, settings: dict[str, Any]
    ) -> None:
        """Make files that were written in parts the current generation, with a model."""
        made = self.path / f"generation-{prepared.key}"

        def write() -> dict[str, Any]:
            files = dict(prepared.files)
            content = _write_model(prepared.folder, files, model, settings, language)
            prepared.folder.rename(made)
            return content

        self._replace(made, prepared.key, write)

    def _replace(self, made: Path, key: str, write: Callable[[], dict[str, Any]]) -> None:
        try:
            content = write()
            sync_folder(self.path)
            write_manifest(self.path, {**content, "generation": made.name, "key": key})
        except BaseException as error:
            if made.name != _current_generation(self.path):
                shutil.rmtree(made, ignore_errors=True)
            kept = (self.path / _MANIFEST).exists() or (self.path / UNFINISHED).exists()
            if self._created and not kept:
                shutil.rmtree(self.path, ignore_errors=True)
            missing = missing_resource(error.__cause__, self.path)
            if missing is not None:
                raise missing from error
            if isinstance(error, OSError) and not isinstance(error, LabelspanError):
                raise _unwritable(error, self.path) from error
            raise
        for other in self.path.glob("generation-*"):
            if other != made:
                # Readers may have old files open; what remains is deleted by the next save.
                shutil.rmtree(other, ignore_errors=True)
        for partial in self.path.glob(f".{_MANIFEST}.*"):
            partial.unlink(missing_ok=True)
        shutil.rmtree(self.path / UNFINISHED, ignore_errors=True)

    def replaced(self) -> bool:
        """Tell whether a save has replaced the generation that was read."""
        return bool(read_manifest(self.path).get("generation") != self.generation)

    def ann_source(self, name: str) -> dict[str, Any]:
        """Describe where the file for approximate search belongs, and which vectors it covers."""
        path = self.path / self.generation / name
        return {
            "path": path,
            "sha256": self._sha256,
            "mapped": self._mapped,
            "known": self._known,
        }

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class _WriteLock:
    """Right to write to a folder, until it is released or the process ends.

    It is SQLite's lock on an empty file: the same on every system, and never left behind.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / _LOCK
        try:
            # SQLite would read a foreign file, or the target of a link.
            if os.path.lexists(path) and file_size(path):
                raise InvalidFile(f"{path} is damaged: it is not empty; remove it.")
            self._connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
        except OSError as error:
            raise _unwritable(error, folder) from error
        except sqlite3.Error as error:
            check_descriptors(folder)
            raise InvalidFile(f"{folder} cannot be written: {error}.") from error
        try:
            # Nothing is ever written, so a full disk does not matter and a kill leaves nothing.
            self._connection.execute("PRAGMA journal_mode = MEMORY")
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            if "locked" not in str(error):
                check_descriptors(folder)
                raise InvalidFile(f"{folder} cannot be written: {error}.") from error
            raise Locked(
                f"Another writer has the index in {str(folder)!r} open; close that one first, "
                "or load this one for reading."
            ) from None
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise InvalidFile(f"{path} is damaged ({error}); remove it.") from error

    def release(self) -> None:
        """Let others write."""
        self._connection.close()


def foreign_files(folder: Path) -> list[str]:
    """List the names in a folder that are not files of an index or of a killed save."""
    return sorted(path.name for path in folder.iterdir() if not _OWN.fullmatch(path.name))


def _prepare(path: Path) -> None:
    """Make a folder if it is missing; raise an error if it holds other files."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        foreign = foreign_files(path)
    except OSError as error:
        raise _unwritable(error, path) from error
    if foreign:
        raise InvalidInput(
            f"save: {str(path)!r} holds other files, for example {foreign[0]!r}; give a new folder."
        )


# --- one generation -------------------------------------------------------------------------


def _write_generation(
    folder: Path, key: str, model: IndexModel, store: ItemStore, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write all files of an index to an empty folder; return the content of its manifest."""
    files: dict[str, FileEntry] = {}
    vectors, word_index = store.write_to(folder / _ITEMS, key)
    arrays = {"vectors": vectors, **({} if word_index is None else word_index.arrays)}
    for name, array in arrays.items():
        files[f"{name}.npy"] = _write_array(folder / f"{name}.npy", array)
    language = None if word_index is None else word_index.analyzer.language
    return _write_model(folder, files, model, settings, language)


def _write_model(
    folder: Path,
    files: dict[str, FileEntry],
    model: IndexModel,
    settings: dict[str, Any],
    language: str | None,
) -> dict[str, Any]:
    """Write what was learned next to files that are there; return the content of the manifest."""
    from .estimator_files import pack_estimator, pack_vectorizer  # noqa: PLC0415
    from .tagger_files import pack_tagger  # noqa: PLC0415

    described, arrays = pack_estimator(model.estimator)
    vectorizer, words, weights = None, None, None
    if model.vectorizer is not None:
        vectorizer, words, weights = pack_vectorizer(model.vectorizer)

    def put(name: str, array: Array | None) -> None:
        if array is not None:
            files[f"{name}.npy"] = _write_array(folder / f"{name}.npy", array)

    put("idf", weights)
    for name, array in arrays.items():
        put(_ESTIMATOR + name.strip("_").lower(), array)
    if words is not None:
        files["words.json"] = _write_json(folder / "words.json", words)
    tagger = None
    if model.tagger is not None:
        tagger, parts, lists = pack_tagger(model.tagger)
        for name, array in parts.items():
            put(name, array)
        for name, value in lists.items():
            files[f"{name}.json"] = _write_json(folder / f"{name}.json", value)
    named = {_ESTIMATOR + name.strip("_").lower(): name for name in arrays}
    return {
        "class": "SemanticIndex",
        "settings": settings,
        "vectorizer": vectorizer,
        "estimator": {**described, "arrays": named},
        "tagger": tagger,
        "words": None if language is None else {"language": language},
        # Whether texts can be mapped to the space by the arrays only.
        "text_map": model.text_map is not None,
        "files": files,
    }


def _read_generation(
    folder: Path,
    content: dict[str, Any],
    *,
    write: bool,
    verify: bool,
    mapped: bool,
    lazy: bool,
    known: VerifiedFiles | None,
) -> Content:
    """Read the files of an index as its manifest describes them."""
    if _field(content, "class", str) != "SemanticIndex":
        raise InvalidFile(f"manifest.json: the class {content['class']!r:.80} is unknown.")
    settings = _field(content, "settings", dict)
    for name in ("folds", "random_state", "approximate_from"):
        _field(settings, name, int)
    _field(settings, "language", str)
    entries = _field(content, "files", dict)
    files = _GenerationFiles(folder, entries, verify=verify, mapped=mapped, known=known)
    model = _read_model(files, content, lazy=lazy)
    base = files.array("vectors")
    if lazy and model.text_map is not None:
        _check_text_map(model.text_map, base)
    else:
        _check_shapes(model, base)
        _check_use(model)
    words = _read_words(files, content, len(base))
    key = _field(content, "key", str)
    store = ItemStore.open(folder / _ITEMS, key, base, words, write=write, verify=verify, lazy=lazy)
    return model, store, settings


class _GenerationFiles:
    """Files of a generation, as the manifest describes them."""

    def __init__(
        self,
        folder: Path,
        entries: dict[str, Any],
        *,
        verify: bool,
        mapped: bool,
        known: VerifiedFiles | None = None,
    ) -> None:
        self._folder, self._entries = folder, entries
        self._verify, self._mapped, self._known = verify, mapped, known

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def _entry(self, name: str) -> FileEntry:
        found = self._entries.get(name)
        if not isinstance(found, dict):
            raise InvalidFile(f"manifest.json: there is no file {name!r}.")
        return found

    def array(self, name: str) -> Array:
        """Map or read an array."""
        path = self._folder / f"{name}.npy"
        entry, known = self._entry(path.name), self._known
        sha256, started = str(entry.get("sha256")), time.time_ns()
        trusted = known is not None and known.knows(path.name, sha256)
        found = _read_array(path, entry, verify=self._verify and not trusted)
        if known is not None and not trusted:
            known.note(path.name, sha256, started)
        return found if self._mapped else np.array(found)

    def words(self, analyzer: Analyzer, count: int) -> WordIndex:
        """Read the word index; large files fit together if they did before."""
        arrays = {name: self.array(name) for name in WORD_ARRAYS}
        sums = [str(self._entry(f"{name}.npy").get("sha256")) for name in WORD_ARRAYS]
        # Each of them has just been verified, or is known.
        trusted = self._known is not None and self._known.knows_together(_WORDS_FIT, sums)
        found = WordIndex.read(analyzer, arrays, count, check=not trusted)
        if self._known is not None and not trusted:
            self._known.note_together(_WORDS_FIT, sums)
        return found

    def json(self, name: str) -> Any:
        """Read plain data."""
        path = self._folder / f"{name}.json"
        return _read_json(path, self._entry(path.name))


def _read_model(files: _GenerationFiles, content: dict[str, Any], *, lazy: bool) -> IndexModel:
    """Read what the index has learned; if ``lazy``, only what maps texts to the space."""
    described = _field(content, "estimator", dict)
    named = _field(described, "arrays", dict)
    mapped = content.get("text_map") is True

    def vectorizer() -> Any:
        from .estimator_files import unpack_vectorizer  # noqa: PLC0415 - with scikit-learn

        table = _field(content, "vectorizer", dict)
        words = files.json("words") if "words.json" in files else None
        weights = files.array("idf") if "idf.npy" in files else None
        return unpack_vectorizer(table, words, weights)

    def words() -> list[str]:
        found = files.json("words")
        if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
            raise InvalidFile("words.json is damaged: it is not a list of words.")
        if _is_hashed(content) and len(found) != len(files.array("idf")):
            raise InvalidFile("words.json is damaged: it does not fit the columns of the index.")
        return found

    def estimator() -> Any:
        from .estimator_files import unpack_estimator  # noqa: PLC0415 - with scikit-learn

        arrays = {str(attribute): files.array(name) for name, attribute in named.items()}
        return unpack_estimator(described, arrays)

    def tagger() -> Any:
        from .tagger_files import unpack_tagger  # noqa: PLC0415 - with scikit-learn

        return unpack_tagger(_field(content, "tagger", dict), files.array, files.json)

    def directions() -> LabelDirections | None:
        if _DIRECTIONS not in named or "labels.json" not in files:
            return None
        names, arrays = files.json("labels"), [files.array(name) for name in (_DIRECTIONS, _MEANS)]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InvalidFile("labels.json is damaged: it is not a list of labels.")
        # Labels that came after the fit are behind those that the space knows.
        found = LabelDirections(tuple(names[: len(arrays[0])]), *arrays)
        if not found.is_sound(files.array("vectors").shape[-1]):
            raise InvalidFile("The directions of the labels do not fit; the index is damaged.")
        return found

    makers = {
        "vectorizer": None if content.get("vectorizer") is None else vectorizer,
        "estimator": estimator,
        "tagger": None if content.get("tagger") is None else tagger,
    }
    if lazy and mapped:
        params = _field(described, "params", dict)
        arrays = (
            files.array("idf"),
            files.array(f"{_ESTIMATOR}components"),
            files.array(f"{_ESTIMATOR}mean") if params.get("center") else None,
        )
        text_map = (
            HashedTextMap(Deferred(words), *arrays)
            if _is_hashed(content)
            else TextMap(words(), *arrays)
        )
        parts = {name: None if make is None else Deferred(make) for name, make in makers.items()}
        return IndexModel(
            **parts,
            text_map=text_map,
            directions=Deferred(directions),
            eigenvalues=Deferred(lambda: files.array(f"{_ESTIMATOR}eigenvalues")),
        )
    made = {name: None if make is None else make() for name, make in makers.items()}
    model = IndexModel(**made, directions=directions())
    if mapped:
        from .learn import text_map_of  # noqa: PLC0415 - with scikit-learn

        model.text_map = text_map_of(model.vectorizer, model.estimator)
    return model


def _is_hashed(content: Mapping[str, Any]) -> bool:
    vectorizer = content.get("vectorizer")
    return isinstance(vectorizer, dict) and vectorizer.get("class") == "HashedWords"


def _read_words(files: _GenerationFiles, content: dict[str, Any], count: int) -> WordIndex | None:
    """Read the word index; None if the index takes vectors."""
    if content.get("words") is None:
        return None
    language = _field(_field(content, "words", dict), "language", str)
    try:
        analyzer = Analyzer(check_language("load", language))
    except InvalidParameter as error:
        raise InvalidFile(f"manifest.json: the language {language!r:.40} is unknown.") from error
    return files.words(analyzer, count)


def _check_text_map(found: TextMap, base: Array) -> None:
    """Check that the arrays that map texts fit together."""
    if base.ndim != 2 or base.dtype != np.float32 or not found.is_sound(base.shape[1]):
        raise InvalidFile("The parts of the index do not fit together; it is damaged.")


def _check_shapes(model: IndexModel, base: Array) -> None:
    """Check that the parts fit together, before anything is computed with them."""
    components: Any = getattr(model.estimator, "components_", None)
    wrong = InvalidFile("The parts of the index do not fit together; it is damaged.")
    if base.ndim != 2 or base.dtype != np.float32 or np.ndim(components) != 2:
        raise wrong
    values = vars(model.estimator)
    m, d = components.shape
    numbers = values.get("n_components_"), values.get("n_features_in_")
    fitting = [
        base.shape[1] == m,
        all(type(number) is int for number in numbers) and numbers == (m, d),
        np.shape(values.get("mean_")) == (d,),
        np.shape(values.get("eigenvalues_")) == (m,),
    ]
    if model.vectorizer is not None:
        words = getattr(model.vectorizer, "vocabulary_", None)
        fitting.append((model.vectorizer.n_features if words is None else len(words)) == d)
    if model.tagger is not None and model.tagger.texts is None:
        fitting.append(model.tagger.n_features == (m if model.vectorizer is None else d))
    if not all(fitting):
        raise wrong


def _check_use(model: IndexModel) -> None:
    """Map an empty text to the space: parts that cannot do that are damaged."""
    try:
        if model.vectorizer is None or not getattr(model.vectorizer, "ready", True):
            features = np.zeros((1, model.n_features), dtype=np.float32)
        else:
            features = model.features([""], None, "load")
        model.vectors(features)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        # A manifest can give parameters that make a class fail in ways that cannot be listed.
        raise InvalidFile("The parts of the index do not work together; it is damaged.") from error


# --- manifest -------------------------------------------------------------------------------


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest, in place of the old one."""
    head = {"format": _FORMAT, "version": _VERSION, "sha256": _digest(content)}
    data = json.dumps({**head, "content": content}, ensure_ascii=False, indent=1).encode()
    if len(data) > _LARGEST_MANIFEST:
        raise InvalidInput(
            f"save: the parameters take {len(data):,} bytes, and at most {_LARGEST_MANIFEST:,} are "
            "written; give the vectorizer a smaller vocabulary, or none to learn it."
        )
    write_whole(folder / _MANIFEST, _writer(data))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the content of the manifest, if it is valid and of the current format."""
    path = folder / _MANIFEST
    try:
        if file_size(path) > _LARGEST_MANIFEST:
            raise InvalidFile(f"{path} is not the manifest of an index: it is too large.")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"There is no index in {str(folder)!r}; correct the path.") from None
    except OSError as error:
        raise _unreadable(error, path) from error
    head = parse_json(data, path)
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InvalidFile(f"{path} is not the manifest of a labelspan index.")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise InvalidFile(f"{path} is damaged: it has no format version.")
    if version != _VERSION:
        remedy = "install a newer labelspan" if version > _VERSION else "fit the index again"
        raise InvalidFile(
            f"{folder} is an index of format {version!s:.20}, and this labelspan reads format "
            f"{_VERSION}; {remedy}."
        )
    content = head.get("content")
    if not _is_shallow(content, _DEEPEST_MANIFEST):
        raise InvalidFile(f"{path} is not the manifest of an index: it is nested too deeply.")
    if not isinstance(content, dict) or _digest(content) != head.get("sha256"):
        raise InvalidFile(f"{path} is damaged: its content is not what was written.")
    return content


def _field(content: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field of the manifest, checked for its type."""
    value = content.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidFile(f"{_MANIFEST}: the field {name!r} is missing or not of its type.")
    return value


def _generation_folder(folder: Path, content: Mapping[str, Any]) -> Path:
    """Return the folder of the files that a manifest names; it lies inside that of the index."""
    name: str = _field(content, "generation", str)
    inside = folder / name
    if not _GENERATION.fullmatch(name) or inside.is_symlink():
        raise InvalidFile(
            f"{_MANIFEST}: {name!r:.80} is not a folder of this index; it is not opened."
        )
    for file in _field(content, "files", dict):
        if not _FILE.fullmatch(file) or (inside / file).is_symlink():
            raise InvalidFile(
                f"{_MANIFEST}: {file!r:.80} is not a file of this index; it is not opened."
            )
    return inside


def _current_generation(folder: Path) -> str:
    """Return the name of the current generation; empty if the manifest cannot be read."""
    try:
        return str(read_manifest(folder).get("generation"))
    except (LabelspanError, OSError):
        return ""


def _is_shallow(value: Any, most: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return most > 0 and all(_is_shallow(entry, most - 1) for entry in inner)


def _digest(content: Any) -> str:
    data = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


# --- arrays and JSON files ------------------------------------------------------------------


class _HashingFile:
    """Open file that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._bytes = 0

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self._bytes += memoryview(data).nbytes
        return self._file.write(data)

    def entry(self, **more: Any) -> FileEntry:
        return {"bytes": self._bytes, "sha256": self._hash.hexdigest(), **more}


def _write_array(path: Path, array: Array) -> FileEntry:
    """Write an array of numbers as ``.npy``."""
    plain = np.asarray(array)
    kind = plain.dtype.newbyteorder("<").str
    if kind not in _TYPES:
        raise InvalidFile(f"{path.name}: arrays of type {array.dtype} are not written.")
    found: list[FileEntry] = []

    def write(file: BinaryIO) -> None:
        hashing = _HashingFile(file)
        np.lib.format.write_array(hashing, plain.astype(kind, copy=False), allow_pickle=False)
        found.append(hashing.entry(dtype=kind, shape=list(plain.shape)))

    write_whole(path, write)
    return found[0]


class PreparedFiles:
    """Files of a new generation that are written in parts, because they may not fit into memory.

    Parameters
    ----------
    folder : Path
        A new folder, on the same disk as the index.
    key : str
        Eight hexadecimal digits that the table of items also has.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        self.files: dict[str, FileEntry] = {}
        self._open: list[tuple[str, BinaryIO, _HashingFile, dict[str, Any]]] = []

    @property
    def items(self) -> Path:
        """Path of the table of items."""
        return self.folder / _ITEMS

    def array(self, name: str, shape: Sequence[int], kind: str) -> Callable[[Array], None]:
        """Begin an array of a shape and type; return a function that takes its rows in parts."""
        file = (self.folder / f"{name}.npy").open("wb")
        hashing = _HashingFile(file)
        header = {"descr": kind, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(hashing, header)
        self._open.append((name, file, hashing, {"dtype": kind, "shape": list(shape)}))
        left = int(np.prod(shape, dtype=np.int64))

        def write(values: Array) -> None:
            nonlocal left
            left -= values.size
            if left < 0:
                raise InvalidInput(f"{name}: more rows than the array has.")
            hashing.write(np.ascontiguousarray(values, dtype=kind).data.cast("B"))

        return write

    def finish(self) -> None:
        """Close all arrays, which must be complete by now."""
        for name, file, hashing, described in self._open:
            file.flush()
            os.fsync(file.fileno())
            file.close()
            self.files[f"{name}.npy"] = hashing.entry(**described)
        self._open = []


def _write_json(path: Path, value: Any) -> FileEntry:
    """Write plain data as JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    write_whole(path, _writer(data))
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _writer(data: bytes) -> Any:
    def write(file: BinaryIO) -> None:
        file.write(data)

    return write


def _read_array(path: Path, entry: FileEntry, *, verify: bool) -> Array:
    """Map an array into memory, if it is what the manifest describes."""
    kind, shape = entry.get("dtype"), entry.get("shape")
    whole = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if kind not in _TYPES or not whole:
        raise InvalidFile(f"{path}: the manifest gives no valid shape and type for it.")
    _check_size(path, entry)
    # With Python integers, which do not overflow.
    content = int(np.dtype(kind).itemsize)
    for length in entry["shape"]:
        content *= length
    if content > entry["bytes"]:
        raise InvalidFile(
            f"{path} is damaged: it is too short for an array of shape {_brief(shape)}."
        )
    if entry["bytes"] - content > _LONGEST_HEADER + len(_NPY_START):
        raise InvalidFile(
            f"{path} is damaged: it is too long for an array of shape {_brief(shape)}."
        )
    if verify:
        _check_hash(path, entry)
    try:
        # An empty array cannot be mapped.
        mapped = _map(path) if content else np.zeros(entry["shape"], dtype=kind)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        # numpy parses the header as Python literals, which can fail in many ways.
        raise InvalidFile(f"{path} is damaged: it cannot be read as an array.") from error
    if mapped.dtype.str != kind or list(mapped.shape) != shape:
        raise InvalidFile(f"{path} is not the array that the manifest describes.")
    # A plain view: slices of a memmap would keep its class.
    return np.asarray(mapped)


def _map(path: Path) -> Array:
    with path.open("rb") as file:
        if file.read(len(_NPY_START)) != _NPY_START:
            raise ValueError("another format")
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except SystemError:
        # Parsing the header can fail in Python 3.11 while another thread parses.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_json(path: Path, entry: FileEntry) -> Any:
    """Read plain data; its hash is always checked."""
    _check_size(path, entry)
    if entry["bytes"] > _LARGEST_JSON:
        raise InvalidFile(f"{path} is too large to be read: it has {entry['bytes']} bytes.")
    _check_hash(path, entry)
    return parse_json(path.read_bytes(), path)


def parse_json(data: bytes, path: Path) -> Any:
    """Parse JSON in UTF-8; names must not occur twice in an object."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_unique_names)
    except (ValueError, RecursionError):
        raise InvalidFile(f"{path} is damaged: it cannot be read as JSON.") from None


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _check_size(path: Path, entry: FileEntry) -> None:
    if type(entry.get("bytes")) is not int or not isinstance(entry.get("sha256"), str):
        raise InvalidFile(f"{path}: the manifest gives no size and hash for it.")
    size = file_size(path)
    if size != entry["bytes"]:
        raise InvalidFile(
            f"{path} is damaged: it has {size} bytes, and {_brief(entry['bytes'])} were written."
        )


def _check_hash(path: Path, entry: FileEntry) -> None:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    if found.hexdigest() != entry["sha256"]:
        raise InvalidFile(f"{path} is damaged: its content is not what was written.")


def _brief(value: Any) -> str:
    """Shorten a value for an error message."""
    return f"{value!r:.80}"


# --- errors ---------------------------------------------------------------------------------


def _unreadable(error: OSError, path: Any) -> Exception:
    """Return the error for a file that cannot be read."""
    return missing_resource(error, path) or InvalidFile(
        f"{path} cannot be read: {error.strerror or error}."
    )


def _unwritable(error: OSError, path: Path) -> Exception:
    """Return the error for a folder that cannot be written."""
    return missing_resource(error, path) or InvalidFile(
        f"{path} cannot be written: {error.strerror or error}; what was there before is unchanged."
    )
