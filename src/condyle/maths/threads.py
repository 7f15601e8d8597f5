"""How the matrices of a fit are computed, whatever the caller has set: by one thread, since they are small and threads
would wait for each other most of the time, and with numpy's own answers to faults of arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limit_threads() -> Iterator[None]:
    """One thread for linear algebra meanwhile, as many as before afterwards, and `keep_arithmetic`; threads stay as
    they are where one is set already.
    """
    if all(os.environ.get(name) == "1" for name in THREAD_VARIABLES):
        with keep_arithmetic():
            yield
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1, user_api="blas"), keep_arithmetic():
        yield


@contextmanager
def keep_arithmetic() -> Iterator[None]:
    """An underflow is no fault, and none is an exception, whatever numpy.seterr says; the rest warns, as numpy does by
    itself, so that tests find what does.
    """
    import numpy as np

    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        yield
