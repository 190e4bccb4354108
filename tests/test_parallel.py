"""Bounded work on threads: errors surface, Ctrl-C ends soon, nothing piles up."""

from __future__ import annotations

import threading
import time

import pytest

from medebench.parallel import TINY, core_count, core_count_for, in_parallel
from tests.patience import PATIENCE


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_all_results_come_once(workers):
    assert sorted(in_parallel(lambda x: x * x, range(100), workers)) == [x * x for x in range(100)]


def test_tiny_files_are_no_work_for_several_threads(tmp_path):
    tiny, large = tmp_path / "tiny", tmp_path / "large"
    tiny.write_bytes(bytes(TINY - 1))
    large.write_bytes(bytes(TINY))
    assert core_count_for(tiny) == core_count_for(None) == 1
    assert core_count_for(large) == core_count_for(tmp_path / "gone") == core_count()


def test_no_items():
    assert list(in_parallel(str, [], 3)) == []


def test_an_error_ends_the_iteration():
    def half(x):
        if x == 5:
            raise ValueError("five")
        return x

    with pytest.raises(ValueError, match="five"):
        list(in_parallel(half, range(10_000), 2))


def test_an_error_in_the_items_surfaces():
    def items():
        yield 1
        raise RuntimeError("source dried up")

    with pytest.raises(RuntimeError, match="dried"):
        list(in_parallel(str, items(), 2))


def test_memory_is_bounded_when_the_reader_is_slow():
    started = []
    results = in_parallel(lambda x: started.append(x) or x, range(1000), 2)
    next(results)
    time.sleep(0.3)
    assert len(started) < 10
    results.close()


def test_closing_does_not_wait_for_stuck_work(monkeypatch):
    monkeypatch.setattr("medebench.parallel.GRACE_SECONDS", 0.3)
    release, ended = threading.Event(), []

    def work(x):
        if x:
            release.wait(PATIENCE)
            ended.append(x)
        return x

    results = in_parallel(work, range(10), 2)
    assert next(results) == 0
    results.close()
    assert ended == []
    release.set()
