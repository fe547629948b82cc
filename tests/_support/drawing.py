"""What a picture holds: points, texts, and boxes that overlap."""

import itertools

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.text import Text


def cloud(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 2))


def drawn(ax):
    """Points and their colours, over all collections of an axes."""
    places, colours = [], []
    for collection in ax.collections:
        own = collection.get_offsets()
        faces = np.broadcast_to(collection.get_facecolors(), (len(own), 4))
        places += [tuple(place) for place in np.asarray(own)]
        colours += [to_hex(face).upper() for face in faces]
    return dict(zip(places, colours, strict=True)), len(places)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def overlapping(boxes):
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(boxes), 2)
        if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
    ]


def boxes_of(texts):
    return [Text.get_window_extent(text) for text in texts if text.get_text()]


def tick_boxes(ax, axis):
    return boxes_of(getattr(ax, f"get_{axis}ticklabels")())
