"""Room for the buffers of BLAS: taken once, or refused where that can be told."""

import mmap

import numpy as np
import pytest

from labelspan import LSI
from labelspan.operators import memory


def test_a_lack_of_room_is_an_error(monkeypatch):
    def refuse(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory, "_taken", False)
    with monkeypatch.context() as patch:
        patch.setattr(mmap, "mmap", refuse)
        with pytest.raises(MemoryError, match="260 MiB"):
            LSI(2).fit(np.random.default_rng(0).standard_normal((30, 5)))
        assert not memory._taken
    memory.take_buffers()
    assert memory._taken
