"""From an estimator's parameters to a solver, and from a problem to a solution."""

from __future__ import annotations

import numbers
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..errors import InvalidInput, InvalidParameter, Mismatch, NotConverged
from ..operators.threads import single_thread
from ..solvers import SOLVERS, Problem, Solution, Solver, choose_solver, refuse_unless_fit

__all__ = ["Solving"]


# Up to so many entries of X, waking a second BLAS thread costs more than it brings.
_SMALL = 2**18


@dataclass(frozen=True)
class Solving:
    """The parameters of an estimator that concern solving, and its name for messages."""

    owner: str
    n_components: int | None
    solver: str | Solver
    tol: float | None
    max_iter: int | None
    random_state: int | np.random.RandomState | None

    def solve(self, problem: Problem) -> Solution:
        """Pick the solver, run it, and see that enough was found."""
        solver = self.pick(problem)
        refuse_unless_fit(solver, problem)
        rows, columns = problem.X.shape
        # Beside a device the host does small algebra alone, and many threads wait more than work.
        alone = rows * columns <= _SMALL or problem.X.device is not None
        with single_thread() if alone else nullcontext():
            solution = solver.solve(problem)
        return self.accept(solution, problem.n_components)

    def accept(self, solution: Solution, count: int) -> Solution:
        """Warn of an early stop; refuse a solution with less than was asked for."""
        if not solution.converged:
            warnings.warn(f"{self.owner}: {solution.status}", NotConverged, stacklevel=5)
        found = solution.eigenvalues.size
        if found == 0:
            raise InvalidInput(
                f"{self.owner}: X says nothing about y, every eigenvalue is zero; "
                "check that X varies between rows."
            )
        if self.n_components is not None and found < count:
            raise InvalidParameter(
                f"{self.owner}: n_components={count} was asked for, but only "
                f"{found} directions have an eigenvalue above zero; use n_components={found} "
                "or None."
            )
        return solution

    def pick(self, problem: Problem) -> Solver:
        """The solver named or given, with the options it knows."""
        options = {
            name: value
            for name, value in (("tol", self.tol), ("max_iter", self.max_iter))
            if value is not None
        }
        if not isinstance(self.solver, str):
            for name in options:
                raise Mismatch(
                    f"{self.owner}: {name} is set both here and on the solver given; "
                    "set it on the solver alone."
                )
            return self.solver
        automatic = self.solver == "auto"
        name = choose_solver(problem).solver if automatic else self.solver
        kind = SOLVERS[name]
        known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
        for option in options.keys() - known:
            if not automatic:
                raise Mismatch(
                    f"{self.owner}: {option}={options[option]!r} has no meaning for "
                    f"solver={name!r}, which is direct; leave {option} at None."
                )
        chosen: dict[str, Any] = {key: options[key] for key in options.keys() & known}
        if "seed" in known:
            whole = isinstance(self.random_state, numbers.Integral)
            # A whole number is the seed itself; making a RandomState of it costs milliseconds.
            chosen["seed"] = int(
                self.random_state  # type: ignore[arg-type]
                if whole
                else check_random_state(self.random_state).randint(2**31 - 1)
            )
        return kind(**chosen)
