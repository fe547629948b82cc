"""Columns that are nothing but rounding, as some dimensions of a language model are."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from _support.support import angle
from scipy import sparse

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, Adapter, KernelFeatures, SemanticIndex
from labelspan.operators import RowFiles, RowWriter, as_operator
from labelspan.operators.compositions import Scaled, without_rounding

# 240 vectors of Debian programs by all-MiniLM-L6-v2, whose dimensions 127, 223 and 319 are about
# 1e-33 and 5e-8 for every text, and twelve tags of the programs.
SAMPLE = Path(__file__).parents[1] / "_support" / "data" / "minilm.npz"


def sample(dtype, dead=True):
    with np.load(SAMPLE) as stored:
        live, faint, dimensions = stored["live"], stored["dead"], stored["dimensions"]
        labels = stored["labels"].astype(int)
    if not dead:
        return live.astype(dtype), labels
    where = dimensions - np.arange(dimensions.size)
    return np.insert(live.astype(np.float64), where, faint, axis=1).astype(dtype), labels


def synthetic(dtype, dead=True):
    """Vectors with dimensions of 1e-33 and 1e-8, which are noise."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 4))
    X = factors @ rng.standard_normal((4, 24)) + 0.5 * rng.standard_normal((300, 24))
    X /= np.linalg.norm(X, axis=1)[:, None]
    Y = (factors[:, :3] + 0.3 * rng.standard_normal((300, 3)) > 0).astype(int)
    if dead:
        noise = rng.standard_normal((300, 3)) * [1e-33, 1e-8, 1e-33]
        X = np.insert(X, [7, 24, 24], noise, axis=1)
    return X.astype(dtype), Y


def pair(made, dtype):
    """Vectors with and without the dead dimensions, their labels, and which dimensions live."""
    X, Y = made(dtype)
    return X, made(dtype, dead=False)[0], Y, X.std(axis=0, dtype=np.float64) > 1e-6


def products(model, X):
    Z = np.asarray(model.transform(X), dtype=np.float64)
    return Z @ Z.T


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


DATA = pytest.mark.parametrize("made", [sample, synthetic])
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DATA
@TYPES
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_an_adapter_is_that_without_dead_dimensions(made, dtype, store):
    """It was refused, or "may be off by 2e+30 of itself"."""
    X, plain, Y, alive = pair(made, dtype)
    model, other = (Adapter(8).fit(store(rows), Y) for rows in (X, plain))
    assert (model.adapted_, model.beta_) == (other.adapted_, other.beta_)
    assert not model.components_[:, ~alive].any()
    close(products(model, X), products(other, plain), 1e-5 if dtype == np.float32 else 1e-9)


@DATA
@TYPES
def test_a_stream_of_an_adapter_is_that_without_dead_dimensions(made, dtype):
    X, plain, Y, _ = pair(made, dtype)

    def streamed(rows):
        model = Adapter(8)
        for part in np.array_split(np.arange(len(rows)), 3):
            model.partial_fit(rows[part], Y[part], solve=part[-1] == len(rows) - 1)
        return model

    found, expected = products(streamed(X), X), products(streamed(plain), plain)
    close(found, expected, 1e-4 if dtype == np.float32 else 1e-8)


@DATA
@TYPES
@pytest.mark.parametrize(
    "model",
    [MLSI(8, alpha=2.0), OPLS(alpha=2.0), CCA(alpha=2.0), HSL(alpha=2.0), LSI(8, center=True)],
    ids=repr,
)
def test_other_methods_are_those_without_dead_dimensions(model, made, dtype):
    X, plain, Y, _ = pair(made, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = products(model.fit(X, Y), X)
    close(found, products(model.fit(plain, Y), plain), 1e-5)


@DATA
@TYPES
def test_mlsi_with_the_chosen_penalty(made, dtype):
    X, plain, Y, _ = pair(made, dtype)
    model, other = MLSI(6).fit(X, Y), MLSI(6).fit(plain, Y)
    assert angle(model.transform(X), other.transform(plain)) < 0.02


@DATA
@TYPES
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernels_are_those_without_dead_dimensions(kernel, made, dtype):
    X, plain, Y, _ = pair(made, dtype)
    found, expected = (KernelFeatures(kernel, gamma=0.5).fit_transform(rows) for rows in (X, plain))
    close(found @ found.T, expected @ expected.T, 1e-5)
    found, expected = (LDA(alpha=1.0).fit(rows, Y[:, 0]) for rows in (found, expected))
    close(found.eigenvalues_, expected.eigenvalues_, 1e-4)


@DATA
@TYPES
@pytest.mark.parametrize("given", ["vectors", "encoder"])
@pytest.mark.parametrize("estimator", [None, MLSI(6), LSI(6, center=True)], ids=repr)
def test_an_index_is_that_without_dead_dimensions(estimator, given, made, dtype):
    """Search and tags, of vectors that are given and of a function of the texts.

    The random numbers of the tagger depend on the number of dimensions: the others are zero.
    """
    X, plain, Y, alive = pair(made, dtype)
    names = [f"tag{k}" for k in range(Y.shape[1])]
    labels = [[name for name, one in zip(names, row, strict=True) if one] for row in Y.tolist()]
    texts = [f"text {n}" for n in range(len(X))]

    def fitted(rows):
        index = SemanticIndex(estimator=estimator)
        if given == "vectors":
            # Without words, the vectors are all that there is.
            return index.fit([""] * len(rows), labels, texts, vectors=rows)
        known = dict(zip(texts, rows, strict=True))
        return index.fit(texts, labels, texts, encoder=lambda some: [known[one] for one in some])

    zeros = np.where(alive, X, dtype(0))
    indexes = [fitted(rows) for rows in (X, zeros, plain)]
    for row in (0, 7, 100):
        asked = [one[row] if given == "vectors" else texts[row] for one in (X, zeros, plain)]
        answers = list(zip(indexes, asked, strict=True))
        near, without, others = (
            [hit.id for hit in one.search(query, k=8)] for one, query in answers
        )
        assert near == without
        assert len(set(near) & set(others)) >= 7
        tags, wanted = (
            {tag.label: tag.probability for tag in one.tag(query, k=len(names))}
            for one, query in answers[:2]
        )
        close([tags[name] for name in names], np.array([wanted[name] for name in names]), 1e-4)


# --- the rule ---------------------------------------------------------------------------


def stored(form, X, folder):
    if form == "files":
        writer = RowWriter(folder / "rows")
        for part in np.array_split(X, 3):
            writer.append(part)
        writer.close()
        return RowFiles(folder / "rows")
    if form == "sparse files":
        return stored("files", sparse.csr_array(X), folder)
    return {"array": np.asarray, "sparse": sparse.csr_array}[form](X)


@TYPES
@pytest.mark.parametrize("form", ["array", "sparse", "files"])
def test_what_rounding_leaves_of_a_constant_gets_no_weight(form, dtype, tmp_path):
    """A column of .3 that was computed in two ways counted as a feature."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5)).astype(dtype)
    y = np.arange(90) % 3
    X[:, 2] = np.where(rng.random(90) < 0.5, 0.3, np.nextafter(dtype(0.3), dtype(1)))
    model = OPLS(alpha=0.0).fit(stored(form, X, tmp_path), np.eye(3)[y])
    other = OPLS(alpha=0.0).fit(np.delete(X, 2, axis=1), np.eye(3)[y])
    assert not model.components_[:, 2].any()
    np.testing.assert_allclose(model.eigenvalues_, other.eigenvalues_, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e8, 1e30])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_units_are_no_rounding(unit, store):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    X[:, 1] *= unit
    Y = np.c_[X[:, 1] > 0, X[:, 0] > 0].astype(int)
    assert CCA(alpha=0.0).fit(store(X), Y).components_[:, 1].any()
    for one in (X, X + 1e6 * unit):
        operator, means = as_operator(store(one)).centered()
        assert without_rounding(operator, means) is operator


@TYPES
@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_an_operator_without_columns_is_the_matrix_without_them(dtype, shape):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal(shape).astype(dtype), rng.standard_normal((shape[0], 3))
    columns = np.arange(shape[1]) % 4 == 1
    plain = as_operator(np.where(columns, dtype(0), X))
    for store in (np.asarray, sparse.csr_array):
        operator = Scaled(as_operator(store(X)), columns=1.0 - columns)
        for name in ("gram", "cogram", "column_means", "column_squares", "sum_of_squares"):
            np.testing.assert_allclose(
                getattr(operator, name)(), getattr(plain, name)(), atol=1e-4, err_msg=name
            )
        np.testing.assert_allclose(operator.cross(Z), plain.cross(Z), atol=1e-4)
        np.testing.assert_allclose(operator.moments(Z)[1], plain.moments(Z)[1], atol=1e-4)
        np.testing.assert_allclose(operator.toarray(), plain.toarray(), atol=1e-6)
        part = operator.rows(np.array([3, 0])).wide_rows(slice(0, 2))
        np.testing.assert_allclose(part, plain.toarray()[[3, 0]], atol=1e-6)


# --- digits of rows far from zero -------------------------------------------------------


@pytest.mark.parametrize("landmarks", [None, 50])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_linear_kernel_next_to_unix_times_keeps_every_direction(store, landmarks):
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((120, 6)), 1.7e9 + 100 * rng.standard_normal(120)]
    kernel = KernelFeatures("linear", landmarks=landmarks).fit(store(X))
    found = kernel.transform(store(X))
    assert found.shape == (120, kernel.get_feature_names_out().size)
    about, expected = found - found.mean(axis=0), X - X.mean(axis=0)
    lengths = [np.linalg.svd(rows, compute_uv=False)[:7] for rows in (about, expected)]
    np.testing.assert_allclose(*lengths, rtol=1e-6)
    close(found @ found.T, X @ X.T, 1e-14)


def test_a_linear_kernel_of_wide_rows_far_from_zero_is_the_kernel():
    X = np.random.default_rng(0).standard_normal((20, 60)) + 50
    kernel = KernelFeatures("linear")
    found = kernel.fit_transform(X)
    close(found @ found.T, X @ X.T, 1e-13)
    close(kernel.transform(X), found, 1e-13)


@pytest.mark.parametrize("model", [MLSI(7, alpha=1.0), LSI(7, center=True)], ids=repr)
def test_features_next_to_unix_times_come_back(model):
    """Products of the rows of the map squared its condition number: errors of 7 to 25%."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((200, 6)), 1.7e9 + 1e5 * rng.standard_normal(200)]
    model.set_params(n_components=4).fit(X, (X[:, :3] > 0).astype(int))
    Z = model.transform(X)
    close(model.transform(model.inverse_transform(Z)), Z, 1e-9)
