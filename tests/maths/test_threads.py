"""Linear algebra has one thread while a fit runs, and as many as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from condyle.io.format import ReadOptions
from condyle.maths.threads import THREAD_VARIABLES, limit_threads
from condyle.prepare import read as reading


def count_threads() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_one_thread_meanwhile_and_as_many_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    np.eye(2) @ np.eye(2)
    with threadpool_limits(3, user_api="blas"):
        before = count_threads()
        if not before or set(before) == {1}:
            pytest.skip("numpy's linear algebra has no threads here")
        with limit_threads():
            assert set(count_threads()) == {1}
        assert count_threads() == before
        with pytest.raises(ZeroDivisionError), limit_threads():
            _ = 1 / 0
        assert count_threads() == before


def test_nothing_is_asked_where_one_thread_is_set_already(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr("threadpoolctl.threadpool_limits", None)
    with limit_threads():
        pass


def test_reading_uses_one_thread_as_fitting_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    seen: list[int] = []
    monkeypatch.setattr(reading, "recordings_in", lambda *_: seen.extend(count_threads()) or [])
    monkeypatch.setattr(reading, "understand", lambda *_: None)
    np.eye(2) @ np.eye(2)
    with threadpool_limits(3, user_api="blas"):
        if set(count_threads()) <= {1}:
            pytest.skip("numpy's linear algebra has no threads here")
        reading.load(["take.csv"], ReadOptions())
    assert set(seen) == {1}
