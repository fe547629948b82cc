"""Texts of three topics with labels, and an index of them."""

import numpy as np

from labelspan import MLSI, SemanticIndex

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound": ["audio", "music", "player", "mixer", "song", "volume", "tune", "radio"],
    "image": ["photo", "picture", "pixel", "colour", "crop", "camera", "paint", "draw"],
}


def corpus(count=60, seed=0):
    """Texts of three topics, some of two, with labels, ids and metadata."""
    rng = np.random.default_rng(seed)
    topics = sorted(WORDS)
    texts, labels, metadata = [], [], []
    for number in range(count):
        own = {topics[number % 3]}
        if rng.random() < 0.3:
            own.add(topics[rng.integers(3)])
        words = [rng.choice(WORDS[topic], 4) for topic in sorted(own)]
        texts.append(" ".join(np.concatenate([*words, rng.choice(["the", "a", "very"], 2)])))
        labels.append(sorted(own))
        metadata.append(
            {"year": 2000 + number % 5, "free": number % 2 == 0, "shelf": "ab"[number % 2]}
        )
    return texts, labels, [f"item{n}" for n in range(count)], metadata


def fresh():
    """An index of the texts, to be changed at will."""
    texts, labels, ids, metadata = corpus()
    return SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)


def planted():
    """The texts with a wrong label (items 0, 6, 12, 18) or a missing one (1 and 4)."""
    texts, labels, ids, _ = corpus()
    for n in (0, 6, 12, 18):
        labels[n] = ["game", "sound"]
    for n in (1, 4):
        labels[n] = ["sound"]
    return texts, labels, ids


def planted_index():
    """An index of the texts with wrong and missing labels."""
    texts, labels, ids = planted()
    return SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids)
