"""Methods that operators override for speed, against what the base class makes of products."""

import inspect

import numpy as np
import pytest
from scipy import sparse

from labelspan.operators import MemoryBlocks, Operator, Product, RowBlocks, Scaled, as_operator
from labelspan.operators.compositions import Without
from labelspan.operators.joined import Joined
from labelspan.solvers.decomposition import OfRows

ROWS, COLUMNS = 23, 9
RNG = np.random.default_rng(0)
BLOCK = RNG.standard_normal((ROWS, 3))
SIDE = RNG.standard_normal((COLUMNS, 3))
# Methods that are overridden, with their argument: the side of a block, rows, or none.
METHODS = {
    "gram": None,
    "cogram": None,
    "rough_gram": None,
    "moments": 0,
    "cross": 0,
    "normal": 1,
    "column_means": None,
    "column_squares": None,
    "sum_of_squares": None,
    "to_block": None,
    "toarray": None,
    "wide_rows": slice(2, 9),
}
# What is no product: about storage, or a new operator (its products are compared).
OTHERS = {"rows", "shifted", "centered", "T", "arranged", "in_type", "to_device", "random_block"}
OTHERS |= {"matmat", "rmatmat", "short_side", "column_counts", "column_blocks"}
OTHERS |= {"_matmat", "_rmatmat", "_matmat_less_row", "_rmatmat_less_outer", "_block"}


class ProductsOnly(Operator):
    """An operator of which only the two products are known."""

    def __init__(self, base):
        super().__init__(base.shape, base.dtype)
        self.base = base

    def _matmat(self, block):
        return self.base.matmat(block)

    def _rmatmat(self, block):
        return self.base.rmatmat(block)


def made():
    """Yield a name and an operator of every class, over the same numbers."""
    X = RNG.standard_normal((ROWS, COLUMNS)) * (RNG.random((ROWS, COLUMNS)) < 0.6) + 0.1
    X[:, 4] = 0.0
    axis = np.linalg.qr(RNG.standard_normal((COLUMNS, 2)))[0]
    stores = {
        "dense": as_operator(X),
        "float32": as_operator(X.astype(np.float32)),
        "sparse": as_operator(sparse.csr_array(X)),
        "blocks": RowBlocks(MemoryBlocks([X[:10], X[10:]])),
    }
    for name, store in stores.items():
        yield name, store
        yield f"{name}, centred", store.centered()[0]
        yield f"{name}, columns", Scaled(store, columns=np.arange(COLUMNS) / 4)
        yield f"{name}, without columns", Scaled(store.centered()[0], columns=np.arange(9) % 3 > 0)
        yield f"{name}, rows", Scaled(store, rows=np.arange(ROWS) + 1.0)
        yield f"{name}, without directions", Without(store, axis)
        yield f"{name}, some rows", store.rows(np.array([3, 0, 3, *range(20)]))
        yield f"{name}, joined", Joined([store, store]).rows(np.arange(ROWS))
    yield "transposed", stores["sparse"].T
    yield "product", Product(stores["sparse"], as_operator(SIDE))
    yield "of rows", OfRows(stores["dense"], BLOCK, exact=True)


OPERATORS = dict(made())


@pytest.mark.parametrize("name", OPERATORS)
def test_overrides_give_what_the_products_give(name):
    operator = OPERATORS[name]
    plain = ProductsOnly(operator)
    tolerance = 2e-5 if operator.dtype == np.float32 else 1e-11
    rng = np.random.default_rng(1)
    for method, argument in METHODS.items():
        arguments = [] if argument is None else [argument]
        if isinstance(argument, int):
            arguments = [rng.standard_normal((operator.shape[argument], 3))]
        found, expected = (getattr(one, method)(*arguments) for one in (operator, plain))
        pairs = zip(found, expected, strict=True) if method == "moments" else [(found, expected)]
        for one, other in pairs:
            scale = max(1.0, np.abs(other).max())
            np.testing.assert_allclose(one, other, atol=tolerance * scale, err_msg=method)


def test_every_method_that_is_overridden_is_compared():
    public = {name for name, _ in inspect.getmembers(Operator) if not name.startswith("__")}
    attributes = {"device", "dual", "one_pass", "threaded", "fill", "dense", "dtype", "shape"}
    known = METHODS.keys() | OTHERS | attributes | {"_check_block", "_abc_impl"}
    assert public <= known, public - known


def test_a_wrong_override_is_seen(monkeypatch):
    monkeypatch.setattr(Scaled, "gram", lambda self: self.base.gram())
    with pytest.raises(AssertionError, match="gram"):
        test_overrides_give_what_the_products_give("dense, columns")
