"""Room for the buffers of BLAS: taken once, or refused where that can be told."""

import mmap

import numpy as np
import pytest

from labelspan import LSI
from labelspan.operators import blas_buffers


def test_a_lack_of_room_is_an_error(monkeypatch):
    def refuse(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(blas_buffers, "_taken", False)
    with monkeypatch.context() as patch:
        patch.setattr(mmap, "mmap", refuse)
        with pytest.raises(MemoryError, match="260 MiB"):
            LSI(2).fit(np.random.default_rng(0).standard_normal((30, 5)))
        assert not blas_buffers._taken
    blas_buffers.take_buffers()
    assert blas_buffers._taken


def test_buffers_are_taken_once(monkeypatch):
    blas_buffers.take_buffers()
    monkeypatch.setattr(mmap, "mmap", None)
    blas_buffers.take_buffers()
