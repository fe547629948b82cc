"""One thread a worker: tests run beside each other, and libraries that spin would starve them."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
