"""Write a fitted map for other programs; loading it does not need labelspan.

============================ =====================================================================
``.npz``                     numpy: ``z = x @ components.T + bias``
``.faiss``                   faiss ``LinearTransform``: ``faiss.read_VectorTransform(path)``
``.onnx``                    ONNX, input ``vectors``, output ``adapted``
a folder                     a ``Dense`` module of sentence-transformers
============================ =====================================================================
"""

from __future__ import annotations

import json
import os
import struct
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..operators.array_backend import host
from .adapter import Adapter

__all__ = ["export_map", "to_faiss"]


def _linear_parts(adapter: Adapter) -> tuple[Array, Array]:
    """Return the weights (m, d) and the bias (m,) of a fitted adapter, in float32."""
    fitted = adapter._fitted()
    weights, mean = host(fitted.components_), host(fitted.mean_)
    return weights.astype(np.float32), (-weights @ mean).astype(np.float32)


def export_map(
    adapter: Adapter, path: str | os.PathLike[str], *, format: str | None = None
) -> Path:
    """Write the map of a fitted adapter to a file or folder.

    Parameters
    ----------
    adapter : Adapter
        Fitted.
    path : path
        The file to write, or the folder for sentence-transformers.
    format : {"npz", "faiss", "onnx", "sentence-transformers"} or None, default=None
        None chooses by the suffix; a path without one is a folder for sentence-transformers.

    Returns
    -------
    path : Path
        What was written.

    See Also
    --------
    labelspan.Adapter : Learns the map.
    to_faiss : The same map as a faiss object.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from labelspan import Adapter
    >>> from labelspan.adapt import export_map
    >>> X, y = load_digits(return_X_y=True)
    >>> adapter = Adapter(8, compare=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with np.load(export_map(adapter, f"{folder}/digits.npz")) as stored:
    ...         Z = X @ stored["components"].T + stored["bias"]
    >>> np.allclose(Z, adapter.transform(X), atol=1e-4)
    True
    """
    path = Path(path)
    writers = {
        "npz": _write_npz,
        "faiss": _write_faiss,
        "onnx": _write_onnx,
        "sentence-transformers": _write_dense_module,
    }
    if not isinstance(adapter, Adapter):
        raise Mismatch(
            f"export_map: {type(adapter).__name__} is not an Adapter; write other estimators with "
            "joblib.dump, or to ONNX with skl2onnx and labelspan.export.register_onnx()."
        )
    if format is None:
        format = path.suffix.lower().lstrip(".") or "sentence-transformers"
    if format not in writers:
        raise InvalidParameter(
            f"export_map: format must be one of {', '.join(writers)}, or given by a suffix, but "
            f"{str(path)!r} was given."
        )
    writers[format](adapter, path)
    return path


def _write_npz(adapter: Adapter, path: Path) -> None:
    fitted = adapter._fitted()
    weights, bias = _linear_parts(adapter)
    arrays = {
        "components": weights,
        "bias": bias,
        "mean": host(fitted.mean_).astype(np.float32),
        "label_directions": host(fitted.label_directions_).astype(np.float32),
        "label_means": host(fitted.label_means_).astype(np.float32),
        "label_names": np.asarray([str(name) for name in fitted.classes_], dtype=np.str_),
        "report": np.array(json.dumps(fitted.report_.to_dict())),
        "about": np.array("labelspan adapter: z = x @ components.T + bias"),
    }
    content = BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    _write(path, content.getvalue())


def to_faiss(adapter: Adapter) -> Any:
    """Return the map as a ``faiss.LinearTransform``, for ``IndexPreTransform`` and the like.

    Parameters
    ----------
    adapter : Adapter
        Fitted.

    Returns
    -------
    faiss.LinearTransform
        The map, ready for use.

    See Also
    --------
    export_map : Writes it to a file.

    Examples
    --------
    >>> from labelspan.adapt import to_faiss
    >>> index = faiss.IndexPreTransform(to_faiss(adapter), faiss.IndexFlatIP(64))  # doctest: +SKIP
    """
    faiss = _package("faiss", "faiss-cpu")
    weights, bias = _linear_parts(adapter)
    transform = faiss.LinearTransform(weights.shape[1], weights.shape[0], True)
    faiss.copy_array_to_vector(weights.ravel(), transform.A)
    faiss.copy_array_to_vector(bias, transform.b)
    transform.is_trained = True
    transform.set_is_orthonormal()
    return transform


def _write_faiss(adapter: Adapter, path: Path) -> None:
    faiss = _package("faiss", "faiss-cpu")
    writer = faiss.VectorIOWriter()
    faiss.write_VectorTransform(to_faiss(adapter), writer)
    _write(path, bytes(faiss.vector_to_array(writer.data)))


def _write_onnx(adapter: Adapter, path: Path) -> None:
    onnx = _package("onnx", "onnx")
    weights, bias = _linear_parts(adapter)
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    size, columns = weights.shape
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["vectors", "weights"], ["turned"]),
            helper.make_node("Add", ["turned", "bias"], ["adapted"]),
        ],
        "adapter",
        [helper.make_tensor_value_info("vectors", floats, ["rows", columns])],
        [helper.make_tensor_value_info("adapted", floats, ["rows", size])],
        [
            onnx.numpy_helper.from_array(np.ascontiguousarray(weights.T), "weights"),
            onnx.numpy_helper.from_array(bias, "bias"),
        ],
    )
    # An old opset version on purpose, which old runtimes can read.
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, producer_name="labelspan", opset_imports=opset, ir_version=8)
    onnx.checker.check_model(model)
    _write(path, model.SerializeToString())


def _write_dense_module(adapter: Adapter, path: Path) -> None:
    weights, bias = _linear_parts(adapter)
    config = {
        "in_features": weights.shape[1],
        "out_features": weights.shape[0],
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    tensors = {"linear.weight": weights, "linear.bias": bias}
    _write(path / "model.safetensors", _safetensors(tensors))
    _write(path / "config.json", json.dumps(config, indent=2).encode())


def _safetensors(tensors: dict[str, Array]) -> bytes:
    header: dict[str, Any] = {}
    start = 0
    for name, values in tensors.items():
        end = start + values.nbytes
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(np.ascontiguousarray(values, "<f4").tobytes() for values in tensors.values())
    return struct.pack("<Q", len(text)) + text + body


def _write(path: Path, content: bytes) -> None:
    def write(file: BinaryIO) -> None:
        file.write(content)

    write_whole(path, write)


def _package(name: str, distribution: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidInput(
            f"This format needs {distribution}, which is not installed; pip install {distribution}."
        ) from error
