"""Seconds to import labelspan and its names, above scikit-learn's own import.

    python -m benchmarks.import_time

Every import has a fresh process; the cases run in turn. What is reported above scikit-learn is
the difference of medians of one run, and so is the ratio. Target: under 0.5 s above
``import sklearn.base``, which all estimators of scikit-learn need.
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from .harness import Report, Row, make_parser

PEER = "import sklearn.base"
CASES = (
    "pass",
    PEER,
    "import sklearn.base, sklearn.linear_model, sklearn.neighbors",
    "import labelspan",
    "from labelspan import MLSI",
    "from labelspan import SemanticIndex",
    "import labelspan.cli",
)
HELP = "labelspan --help"
TARGET = 0.5


def seconds(statement: str) -> float:
    """Seconds of one statement in a fresh process, without the start of Python itself."""
    timed = f"import time\nstart = time.perf_counter()\n{statement}\n"
    timed += "print(time.perf_counter() - start, file=__import__('sys').stderr)"
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
    return float(done.stderr.split()[-1])


def main() -> None:
    """Time the imports and print the table."""
    parser = make_parser(__doc__, repeats=9)
    args = parser.parse_args()
    report = Report("import_time", args)
    # The command, as a person waits for it: parsing and printing its help.
    helped = "from labelspan.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    cases = {**{case: case for case in CASES}, HELP: helped}
    runs: dict[str, list[float]] = {name: [] for name in cases}
    for statement in cases.values():
        seconds(statement)  # the files are in the system's cache from here on
    for _ in range(2 if args.quick else args.repeats):
        for name, statement in cases.items():
            runs[name].append(seconds(statement))
    base = median(runs[PEER])
    rows = []
    for name, times in runs.items():
        notes = {"s above scikit-learn": median(times) - base, "ratio": median(times) / base}
        rows.append(Row(name, tuple(times), notes=notes))
    report.add("Imports in fresh processes", rows)
    above = median(runs["from labelspan import MLSI"]) - base
    print(
        f"\nMLSI: {above:.3f} s above scikit-learn, {'under' if above < TARGET else 'OVER'} "
        f"the target of {TARGET} s"
    )
    report.write()


if __name__ == "__main__":
    main()
