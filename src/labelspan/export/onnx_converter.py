"""Linear maps as ONNX, converted by skl2onnx like scikit-learn's own estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._install import needed
from ..estimators import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS
from ..operators.array_backend import host

__all__ = ["register_onnx"]


def register_onnx() -> None:
    """Let skl2onnx convert the linear estimators, on their own and as steps of a pipeline.

    The converted model computes what ``transform`` does: ``(X - mean_) @ components_.T``.

    See Also
    --------
    labelspan.Adapter.export : Writes a fitted adapter as ONNX, without skl2onnx.

    Examples
    --------
    >>> from skl2onnx import to_onnx  # doctest: +SKIP
    >>> from labelspan.export import register_onnx
    >>> register_onnx()  # doctest: +SKIP
    >>> model = to_onnx(MLSI(2).fit(X, Y), X[:1].astype("float32"))  # doctest: +SKIP
    """
    register = needed("register_onnx", "skl2onnx").update_registered_converter
    for kind in (LSI, MLSI, OPLS, CCA, LDA, HSL, DLE, LPP):
        alias = f"Labelspan{kind.__name__}"
        register(kind, alias, _shape, _convert, overwrite=True, parser=_parse)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare one output, also for estimators that are classifiers."""
    operator = scope.declare_local_operator(f"Labelspan{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("variable", type(inputs[0].type)()))
    return operator.outputs


def _shape(operator: Any) -> None:
    given = operator.inputs[0].type
    columns = host(operator.raw_operator.components_).shape[0]
    operator.outputs[0].type = type(given)([given.shape[0], columns])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto  # noqa: PLC0415 - optional

    model, (given,) = operator.raw_operator, operator.inputs
    double = "Double" in type(given.type).__name__
    kind, dtype = (TensorProto.DOUBLE, np.float64) if double else (TensorProto.FLOAT, np.float32)

    def constant(name: str, values: Any) -> str:
        full, numbers = scope.get_unique_variable_name(name), host(values).astype(dtype)
        container.add_initializer(full, kind, list(numbers.shape), numbers.ravel().tolist())
        return str(full)

    # The means go first, as in transform, so that large ones cost no digits.
    centred = scope.get_unique_variable_name("centred")
    given_names = [given.full_name, constant("mean", model.mean_)]
    container.add_node("Sub", given_names, centred, name=scope.get_unique_operator_name("Sub"))
    factors = [centred, constant("components", host(model.components_).T)]
    made = operator.outputs[0].full_name
    container.add_node("MatMul", factors, made, name=scope.get_unique_operator_name("MatMul"))
