"""A small index with awkward names, and reading of pages, for the tests of the explorer."""

from html.parser import HTMLParser

import numpy as np

from labelspan import MLSI, SemanticIndex

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound & music": ["audio", "music", "player", "mixer", "song", "volume", "tune", "radio"],
    'works-with::<"image">': ["photo", "picture", "pixel", "colour", "crop", "camera", "paint"],
}
ODD = ["a/b?c=d&e", "item.json", "../manifest.json", "quote\"'><b>", "ключ ü 🙂", "  spaced  "]
BASE = "http://127.0.0.1:8000"


def make_index(folder=None, count=60):
    """Items of three topics; the first ones have odd ids, some no text or no known labels."""
    rng = np.random.default_rng(0)
    topics = sorted(WORDS)
    texts, labels = [], []
    for number in range(count):
        own = [topics[number % 3]] + ([topics[(number + 1) % 3]] if number % 4 == 0 else [])
        words = np.concatenate([rng.choice(WORDS[topic], 5) for topic in own])
        texts.append(" ".join(words))
        labels.append(sorted(own))
    texts[7] = "<script>alert(1)</script> chess board"
    texts[8] = ""
    texts[9] = "first line of music\n\nsecond line about audio & radio"
    labels[10], labels[11] = None, []
    ids = ODD + [f"item{number}" for number in range(len(ODD), count)]
    metadata = [{"year": 2000 + number % 5, "free": number % 2 == 0} for number in range(count)]
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)
    return index if folder is None else index.save(folder)


class Page(HTMLParser):
    """What a page holds: elements with attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.text = ""
        self.scripts = ""
        self._in_script = False
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._in_script = tag in {"script", "style"}

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts += data
        else:
            self.text += data

    def all(self, *tags):
        """The attributes of all elements of some names."""
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def values(self):
        """All values of attributes."""
        return [v for _, attributes in self.elements for v in attributes.values() if v]
