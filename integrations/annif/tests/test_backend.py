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
    # A vocabulary in SKOS brings names and what is broader; a new process reads them again.
    (tmp_path / "vocab.ttl").write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://example.org/fun> a skos:Concept ; skos:prefLabel "fun"@en .\n'
        '<http://example.org/game> a skos:Concept ; skos:prefLabel "games"@en ; '
        'skos:altLabel "play"@en ; skos:broader <http://example.org/fun> .\n'
        '<http://example.org/sound> a skos:Concept ; skos:prefLabel "sound"@en .\n'
    )
    loaded = run(cli, ["load-vocab", "tiny", "vocab.ttl", "--language", "en", "--force"])
    assert loaded.exit_code == 0, loaded.output
    assert run(cli, ["train", "tiny", "train.tsv"]).exit_code == 0
    from labelspan import SemanticIndex  # noqa: PLC0415

    (folder,) = tmp_path.glob("data/projects/tiny/labelspan-index")
    with SemanticIndex.load(folder) as index:
        assert set(index.labels) == {"games", "sound"}
        assert index.find_labels("pla")[0].label == "games"
        assert index.vocabulary.broader("games") == ("fun",)
    suggested = run(cli, ["suggest", "tiny"], input="a chess puzzle")
    assert suggested.output.splitlines()[0].startswith("<http://example.org/game>")
