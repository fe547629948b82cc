"""Cut a font for mathematics down to what formulas need: docs/_static/fonts/dejavu-math.woff.

``python tools/make_math_font.py DejaVuMathTeXGyre.ttf`` needs fonttools. Browsers lay MathML out
well only with a font that has a MATH table, and not every machine has one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "docs" / "_static" / "fonts" / "dejavu-math.woff"

# First and last code points of the ranges that are kept.
RANGES = (
    (0x20, 0x7E),  # ASCII
    (0x391, 0x3C9),  # Greek
    (0x2190, 0x2193),  # arrows
    (0x21D0, 0x21D4),
    (0x2200, 0x226F),  # operators
    (0x2308, 0x230B),  # floor and ceiling
    (0x1D400, 0x1D467),  # bold and italic letters
    (0x1D49C, 0x1D4CF),  # script
    (0x1D6E2, 0x1D71B),  # italic Greek
)
SINGLE = (
    *(0xAF, 0xB1, 0xB7, 0xD7, 0x2C6, 0x2DC, 0x302, 0x303, 0x304, 0x305, 0x3D1, 0x3D5, 0x3F5),
    *(0x2016, 0x2026, 0x2032, 0x2033, 0x2102, 0x210D, 0x2113, 0x2115, 0x211D, 0x2124),
    *(0x2295, 0x2297, 0x2299, 0x22A4, 0x22A5, 0x22C5, 0x22EE, 0x22EF, 0x22F1, 0x27E8, 0x27E9),
)


def main() -> None:
    from fontTools import subset, ttLib  # noqa: PLC0415 - only this tool needs it

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("font", type=Path)
    font = ttLib.TTFont(parser.parse_args().font)
    options = subset.Options()
    options.layout_features = ["*"]
    cutter = subset.Subsetter(options)
    kept = {code for first, last in RANGES for code in range(first, last + 1)}
    cutter.populate(unicodes=kept | set(SINGLE))
    cutter.subset(font)
    font.flavor = "woff"
    font.save(OUT)


if __name__ == "__main__":
    main()
