import sys

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models run faster on one thread, and give the same sums on every machine."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
