"""Solving the problem of an estimator: the solver, its threads, and the penalty."""

from __future__ import annotations

import numbers
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array
from ..errors import (
    InvalidInput,
    LabelspanWarning,
    Mismatch,
    NotConverged,
    warn_caller,
)
from ..operators import Operator
from ..operators.machine import own_threads, refuse_too_large, single_thread, take_buffers
from ..solvers import SOLVERS, AlphaCurve, Problem, Solution, Solver, choose_solver
from ..solvers.alpha import choose_alpha, leave_one_out_of_sample, warn_at_end
from ..solvers.limits import DIRECT_LIMIT
from ..solvers.svd import BLOCK_WIDTH

__all__ = [
    "accept",
    "choose_penalty",
    "dimensions_for",
    "seed_of",
    "solve",
    "threads_for",
]

# Up to this many entries of X a second BLAS thread costs more than it saves; up to this many
# multiplications for X'X, BLAS takes one thread by itself.
_SMALL = _TINY = 2**18
# Up to this many rows, BLAS takes one thread unless a dense decomposition is larger than this: next
# to other programs its threads wait for each other, and a fit takes up to five times the CPU time.
_FEW_ROWS, _SHORT = 5_000, 2_048


def solve(model: Any, problem: Problem) -> Solution:
    """Solve a problem with the solver that the parameters of ``model`` select."""
    if problem.sparse_labels:
        _refuse_large_space(model, problem)
    solver = _pick_solver(model, problem)
    _refuse_misfit(model, solver, problem)
    take_buffers()
    with threads_for(problem.X):
        solution = solver.solve(problem)
    return accept(model, solution, problem.n_components)


def _refuse_large_space(model: Any, problem: Problem) -> None:
    """Raise an error before a fit whose Krylov space would not fit into memory."""
    X, count = problem.X, problem.n_components
    rows, columns = X.shape
    k = 0 if problem.labels is None else problem.labels.shape[1]
    # A space of four times as many directions, and a few blocks of the regression.
    side = 2 * max(count, BLOCK_WIDTH)
    space = 4 * count * (rows + columns + side)
    narrow = "" if X.dtype == np.float32 else "give X in float32, "
    refuse_too_large(
        type(model).__name__,
        X.dtype.itemsize * (space + 8 * side * (rows + columns)) + 8 * 3 * k * side,
        f"a space of {count} components over {rows} rows, {columns} features and {k} labels",
        f"{narrow}lower n_components, or fit on fewer rows",
    )


def choose_penalty(
    model: Any, rows: Any, index: Array | None = None, *, choose: bool = False
) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, and, if it is "auto", the curve from which it was chosen.

    ``rows`` are the `TrainingRows`, of which those with an ``index`` are used. Of a stream they are
    a few rows with the same products as all: the errors are then those of sampled rows. ``choose``
    ignores a number that was given.
    """
    if model.alpha != "auto" and not choose:
        return float(model.alpha), None
    take_buffers()
    X, labels = rows.X, rows.Y
    with threads_for(X):
        if rows.raw is None:
            sample = rows.labels.sample
            some = np.flatnonzero(sample.labels.labelled)
            gram, cross = X.moments(labels.to_block())
            curve = leave_one_out_of_sample(
                gram,
                cross,
                sample.rows[some] - rows.means,
                sample.labels.values[some],
                rows.label_means,
                rows=rows.n,
                intercept=model.center,
            )
        else:
            if index is not None:
                X, labels = X.rows(index), labels.rows(index)
            known = rows.decomposition if index is None else None
            curve = choose_alpha(X, labels, intercept=model.center, decomposition=known)
    if model.alpha == "auto":
        warn_at_end(curve, type(model).__name__)
    return curve.alpha, curve


def threads_for(X: Any) -> AbstractContextManager[object]:
    """Limit the threads of BLAS, and of other products, to what pays off for the size of X.

    X is an operator, or what the user gave.
    """
    if len(getattr(X, "shape", ())) != 2:
        return nullcontext()
    (rows, columns), known = X.shape, isinstance(X, Operator)
    on_device, threaded = known and X.device is not None, known and X.threaded
    # With X on a device the host only does small algebra, for which threads do not pay off.
    if rows * columns**2 <= _TINY and not on_device:
        return nullcontext()
    if rows * columns <= _SMALL or on_device:
        return single_thread()
    if rows <= _FEW_ROWS and (threaded or min(rows, columns) <= _SHORT):
        return own_threads()
    return own_threads() if threaded and min(rows, columns) > DIRECT_LIMIT else nullcontext()


def _refuse_misfit(model: Any, solver: Solver, problem: Problem) -> None:
    """Raise :class:`Mismatch` if the solver does not support the problem.

    A solver does not know estimators: here its reason becomes an error message for ``model``, with
    the solvers that can be used instead.
    """
    reason = solver.why_not(problem)
    if reason is None:
        return
    fitting = [name for name, kind in SOLVERS.items() if kind().why_not(problem) is None]
    ways = " or ".join(f"solver={name!r}" for name in ("auto", *fitting))
    raise Mismatch(f"{type(model).__name__}: {reason} Use {ways}.")


def accept(model: Any, solution: Solution, count: int) -> Solution:
    """Warn if the solver stopped early or found too few directions; raise if it found none."""
    owner = type(model).__name__
    if not solution.converged:
        warn_caller(f"{owner}: {solution.status}", NotConverged)
    found = solution.eigenvalues.size
    if found == 0:
        raise InvalidInput(
            f"{owner}: X does not explain y, because every eigenvalue is zero; "
            "check that X varies between rows."
        )
    asked = isinstance(model.n_components, numbers.Integral) and "_stream" not in vars(model)
    if asked and found < count:
        warn_caller(
            f"{owner}: n_components={model.n_components} was given, but only {found} directions "
            f"have an eigenvalue above the rounding of the first; {found} are used.",
            LabelspanWarning,
        )
    return solution


def _pick_solver(model: Any, problem: Problem) -> Solver:
    """Return the solver that was named or passed, with its options."""
    owner, solver = type(model).__name__, model.solver
    options = {
        name: getattr(model, name)
        for name in ("tol", "max_iter")
        if getattr(model, name, None) is not None
    }
    if not isinstance(solver, str):
        for name in options:
            raise Mismatch(
                f"{owner}: {name} is set both here and on the solver given; "
                "set it only on the solver."
            )
        return solver  # type: ignore[no-any-return]
    automatic = solver == "auto"
    name = choose_solver(problem).solver if automatic else solver
    kind = SOLVERS[name]
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    for option in options.keys() - known:
        if not automatic:
            raise Mismatch(
                f"{owner}: {option}={options[option]!r} has no meaning for "
                f"solver={name!r}, which is direct; leave {option} at None."
            )
    chosen: dict[str, Any] = {key: options[key] for key in options.keys() & known}
    if "seed" in known:
        chosen["seed"] = seed_of(model)
    return kind(**chosen)


def dimensions_for(labels: int, rows: int) -> int:
    """Return the default number of dimensions: 30 plus half the number of labels.

    At most 500, and beyond 30 at most a quarter of the rows. On five development sets of 6 to 204
    labels it is at most .002 nDCG below the best number; 100 dimensions are .003 below.
    """
    return int(np.clip(30 + labels // 2, 30, max(30, min(500, rows // 4))))


def seed_of(model: Any) -> int:
    """Return ``random_state`` as a seed."""
    state = model.random_state
    # A whole number is the seed itself; making a RandomState of it costs milliseconds.
    whole = isinstance(state, numbers.Integral)
    return int(state if whole else check_random_state(state).randint(2**31 - 1))
