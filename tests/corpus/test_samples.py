"""Files of many programs, each read without options, and what they are refused for."""

import pytest
from _support.samples import BODIES, COUNT, SAMPLES, TAGS, TITLES

from labelspan.corpus import CorpusReader


@pytest.mark.parametrize("shape", SAMPLES)
def test_a_sample_is_read_without_options(tmp_path, shape):
    write, format, text, labels, ids = SAMPLES[shape]
    reader = CorpusReader(write(tmp_path))
    found = reader.collect()
    reading = found.reading
    assert reading["format"] == format
    fields = " + ".join(reading["text"]), " + ".join(reading["labels"]), reading["ids"]
    assert fields == (text, labels, ids)
    assert len(found) == COUNT
    assert len(set(found.ids)) == COUNT
    for own, body in zip(found.texts, found.labels, strict=True):
        place = next(n for n, one in enumerate(BODIES) if one in own and TITLES[n] in f"{own} ")
        assert sorted(body) == TAGS[place], own
        assert "<p>" not in own
    report = reader.report(found)
    assert (report.n_items, report.n_labels, report.n_labelled) == (COUNT, 4, COUNT)
    assert len(report.lines()) < 40
    assert all(len(line) < 240 for line in report.lines())
