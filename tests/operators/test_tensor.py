"""The same answers from tensors: operators, solvers and estimators on torch's arrays."""

import numpy as np
import pytest
from _support.support import angle, features, indicator
from sklearn.base import clone

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, PLSDA, PLSSVD, as_operator
from labelspan.errors import InvalidInput, InvalidLabels
from labelspan.operators import Operator, Product, Scaled, Sum, VStack

torch = pytest.importorskip("torch", reason="torch is not installed")

# The tests make sparse tensors themselves, and torch says once a process that they are new.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def kinds(X, device="cpu"):
    dense = torch.as_tensor(X, device=device)
    return {"dense": dense, "csr": dense.to_sparse_csr(), "coo": dense.to_sparse_coo()}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kind", "shape"), [("dense", "wide"), ("csr", "tall"), ("csr", "wide"), ("coo", "low-rank")]
)
def test_operators_equal_dense_arrays(kind, shape, device):
    X = features(shape, 0)
    plain = as_operator(kinds(X, device)[kind])
    centered, means = plain.centered()
    np.testing.assert_allclose(means, X.mean(axis=0), atol=1e-12)
    index = np.array([3, 1, 7, 7])
    others = np.random.default_rng(0).standard_normal((4, X.shape[0]))
    pairs = [
        (plain, X),
        (centered, X - X.mean(axis=0)),
        (plain.rows(index), X[index]),
        (Operator.rows(plain, index), X[index]),
        (plain.T, X.T),
        (Scaled(plain, rows=np.arange(1.0, 1 + len(X))), np.arange(1.0, 1 + len(X))[:, None] * X),
        (VStack([as_operator(X), centered]), np.r_[X, X - X.mean(axis=0)]),
        (Product(as_operator(others), plain), others @ X),
        (Sum([plain, centered], [1.0, 2.0]), 3 * X - 2 * X.mean(axis=0)),
    ]
    for operator, reference in pairs:
        assert operator.device is not None
        np.testing.assert_allclose(operator.toarray(), reference, atol=1e-10)
        np.testing.assert_allclose(operator.gram(), reference.T @ reference, atol=1e-9)
        np.testing.assert_allclose(operator.cogram(), reference @ reference.T, atol=1e-9)
        np.testing.assert_allclose(operator.column_means(), reference.mean(axis=0), atol=1e-10)
        assert operator.sum_of_squares() == pytest.approx((reference**2).sum())
        block = np.random.default_rng(1).standard_normal((reference.shape[0], 3))
        np.testing.assert_allclose(operator.cross(block), reference.T @ block, atol=1e-10)
        product = operator.rmatmat(block)
        assert isinstance(product, torch.Tensor)
        np.testing.assert_allclose(product.cpu(), reference.T @ block, atol=1e-10)


MODELS = [
    LSI(3, center=True, solver="krylov", tol=1e-10),
    MLSI(4),
    MLSI(4, solver="krylov", tol=1e-10),
    MLSI(3, center=True, solver="exact"),
    CCA(),
    OPLS(alpha=0.1, solver="exact"),
    CCA(alpha=0.5, solver="least-squares"),
    HSL(laplacian="star"),
    PLSSVD(3),
    PLSDA(3, standardize=True),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("model", "kind", "shape"),
    [
        (model, ["dense", "csr"][number % 2], ["wide", "tall"][number // 2 % 2])
        for number, model in enumerate(MODELS)
    ],
    ids=str,
)
def test_estimators_give_the_answer_of_arrays(model, kind, shape, device):
    X = features(shape, 3)
    Y = indicator(len(X), 3)
    plain = clone(model).fit(X, Y)
    given = kinds(X.copy(), device)[kind]
    labels = torch.as_tensor(Y.copy(), device=device)
    found = clone(model).fit(given, labels)
    np.testing.assert_array_equal(given.to_dense().cpu(), X)
    np.testing.assert_array_equal(labels.cpu(), Y)
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-6, atol=1e-9)
    Z = found.transform(given)
    assert isinstance(Z, torch.Tensor)
    assert Z.device.type == found.components_.device.type == device
    assert angle(Z.cpu().numpy(), plain.transform(X)) < 1e-4
    # From the host to a model on a device, and the other way.
    np.testing.assert_allclose(found.transform(X), Z.cpu(), atol=1e-8)
    assert isinstance(plain.transform(given), torch.Tensor)
    if not isinstance(model, LSI):
        scores = found.label_scores(given)
        assert isinstance(scores, torch.Tensor)
        np.testing.assert_allclose(scores.cpu(), plain.label_scores(X), atol=1e-3)
        ends = found.top_labels(0)  # all labels may lie at one end
        assert {entry.name for entry in ends.high + ends.low} == set(range(Y.shape[1]))
    assert len(found.top_features(0, 2).high) <= 2
    if isinstance(model, (LSI, MLSI)):
        back = found.inverse_transform(Z)
        assert isinstance(back, torch.Tensor)
        np.testing.assert_allclose(back.cpu(), found.inverse_transform(Z.cpu().numpy()), atol=1e-8)


def test_classes_unknown_rows_and_float32():
    X, y = features("tall", 6), np.arange(60) % 3
    y[40:] = -1
    plain = LDA(alpha=0.1).fit(X, y)
    found = LDA(alpha=0.1).fit(torch.as_tensor(X), torch.as_tensor(y))
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    Y = indicator(60, 6)
    Y[50:] = -1
    plain = MLSI(3).fit(X, Y)
    found = MLSI(3).fit(torch.as_tensor(X), torch.as_tensor(Y))
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    narrow = MLSI(3, solver="krylov").fit(
        torch.as_tensor(X, dtype=torch.float32).to_sparse_csr(), torch.as_tensor(indicator(60, 6))
    )
    assert narrow.components_.dtype == torch.float32
    assert narrow.transform(torch.as_tensor(X, dtype=torch.float32)).dtype == torch.float32


def test_refusals():
    X, Y = torch.as_tensor(features("tall", 8)), indicator(60, 8)
    model = MLSI(2).fit(X, Y)
    for device in ("nonsense", "cuda:99", 7.5):
        with pytest.raises(InvalidInput, match=r"cannot be used here .*; torch finds cpu"):
            as_operator(np.eye(3), device=device)
    with pytest.raises(InvalidInput, match="X has 5 features, but fit had 12"):
        model.transform(X[:, :5])
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        MLSI(2).fit(torch.full((5, 3), float("nan")), Y[:5])
    with pytest.raises(InvalidLabels, match="X has 60 rows, y has 59 rows"):
        MLSI(2).fit(X, torch.as_tensor(Y[:59]))
    with pytest.raises(InvalidInput, match="two-dimensional"):
        MLSI(2).fit(X[:, 0], Y)
    with pytest.raises(InvalidInput, match=r"1 row\(s\); at least 2"):
        MLSI(2).fit(X[:1], Y[:1])


@pytest.mark.parametrize("device", DEVICES)
def test_a_constant_column_of_a_sparse_tensor_has_no_weight(device):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.7)
    y = np.arange(30) % 3
    still = np.column_stack([X[:, :2], np.full(30, 0.7), X[:, 2:]])
    model = LDA().fit(torch.tensor(still, device=device).to_sparse_csr(), y)
    weights = model.components_.cpu().numpy()
    assert np.abs(weights[:, 2]).max() < 1e-12
    plain = LDA().fit(torch.tensor(X, device=device).to_sparse_csr(), y)
    np.testing.assert_allclose(
        np.delete(weights, 2, axis=1), plain.components_.cpu().numpy(), atol=1e-9
    )
    assert float(model.mean_[2]) == pytest.approx(0.7, abs=0)
