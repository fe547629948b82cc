"""The backend in a real Annif; skipped where Annif is not installed."""

import pytest

pytest.importorskip("annif")

TOPICS = {
    "http://example.org/game": ("games", "chess board dice player puzzle card"),
    "http://example.org/sound": ("sound", "music song tune radio mixer volume"),
}


def test_vocabulary_training_suggestions_and_evaluation(tmp_path, monkeypatch):
    from click.testing import CliRunner  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    (tmp_path / "projects.cfg").write_text(
        "[tiny]\nname=tiny\nlanguage=en\nbackend=labelspan\nanalyzer=simple\nvocab=tiny\nlimit=10\n"
    )
    (tmp_path / "vocab.tsv").write_text(
        "".join(f"<{uri}>\t{name}\n" for uri, (name, _) in TOPICS.items())
    )
    lines = []
    for uri, (_, words) in TOPICS.items():
        own = words.split()
        lines += [f"{own[n % 6]} {own[(n + 1) % 6]} {own[(n + 3) % 6]}\t<{uri}>" for n in range(24)]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n")
    from labelspan_annif import register  # noqa: PLC0415

    register()
    from annif.cli import cli  # noqa: PLC0415

    run = CliRunner().invoke
    assert run(cli, ["load-vocab", "tiny", "vocab.tsv", "--language", "en"]).exit_code == 0
    assert run(cli, ["train", "tiny", "train.tsv"]).exit_code == 0
    suggested = run(cli, ["suggest", "tiny"], input="a chess puzzle")
    assert suggested.output.splitlines()[0].startswith("<http://example.org/game>")
    evaluated = run(cli, ["eval", "tiny", "train.tsv"])
    assert "NDCG" in evaluated.output
