"""The command adapt: a map from files, and what it refuses."""

import json

import numpy as np
import pytest
from _support.commands import one_sentence, run
from sklearn.datasets import load_digits

from labelspan import Adapter

X, Y = load_digits(return_X_y=True)


@pytest.fixture
def files(here):
    np.save("v.npy", X.astype(np.float32))
    (here / "tags.jsonl").write_text(
        "".join(json.dumps({"tags": [f"d{y}", "odd" if y % 2 else "even"]}) + "\n" for y in Y)
    )
    return here


def test_a_map_from_files(files):
    result = run("adapt", "v.npy", "--labels", "tags.jsonl", "--dimensions", 16, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["map"], answer["n_components"], answer["n_labels"]) == ("adapter.npz", 16, 12)
    assert "1,797 vectors of 64 dimensions" in result.stderr
    with np.load("adapter.npz") as file:
        stored = dict(file)
    names = stored["label_names"].tolist()
    own = [(f"d{y}", "odd" if y % 2 else "even") for y in Y]
    table = np.array([[int(name in tags) for name in names] for tags in own])
    expected = Adapter(16).fit(X.astype(np.float32), table)
    np.testing.assert_allclose(stored["components"], expected.components_, atol=1e-5)


def test_vectors_can_be_saved(files):
    options = ["--save-vectors", "small.npy", "--dimensions", 8]
    assert run("adapt", "v.npy", "--labels", "tags.jsonl", *options).exit_code == 0
    with np.load("adapter.npz") as file:
        stored = dict(file)
    plain = np.load("small.npy")
    expected = X @ stored["components"].T + stored["bias"]
    np.testing.assert_allclose(plain, expected, atol=1e-3)
    more = [*options, "--by-labels", "--force"]
    result = run("adapt", "v.npy", "--labels", "tags.jsonl", *more)
    assert result.exit_code == 0, result.output
    assert "nDCG@10 on held-out rows" in result.stdout
    assert np.abs(np.load("small.npy") - plain).max() > 0.01


def test_what_is_refused(files):
    (files / "short.txt").write_text("a\nb\n")
    (files / "there.npz").write_bytes(b"")
    for arguments, message in [
        (["missing.npy", "--labels", "tags.jsonl"], "no file 'missing.npy'"),
        (["v.npy", "--labels", "short.txt", "--min-count", 1], "labels for 2 rows"),
        (["v.npy", "--labels", "tags.jsonl", "--out", "there.npz"], "give --force"),
        (["v.npy", "--labels", "tags.jsonl", "--out", "map.txt"], "must end in"),
        (["v.npy", "--labels", "tags.jsonl", "--save-vectors", "z.csv"], "must end in .npy"),
        (["v.npy", "--labels", "tags.jsonl", "--field", "x"], "no field 'x'"),
    ]:
        assert message in one_sentence(run("adapt", *arguments))
    assert not (files / "adapter.npz").exists()
