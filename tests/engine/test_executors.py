"""The same stage in threads and in processes: same rows, same order, nothing piles up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from medebench.engine.batches import Batches, one_by_one
from medebench.engine.executors import EXECUTORS, find_executor
from medebench.engine.named import Named
from medebench.engine.threads import AHEAD, Threads
from medebench.errors import InputError, MedebenchError
from tests.patience import wait_until


@dataclass(frozen=True)
class Squares:
    """Says in which process it was opened."""

    broken: int = -1
    folder: Path | None = None

    def open(self) -> Squares:
        return self

    def do(self, items: Sequence[int]) -> Iterator[tuple[int, int]]:
        for item in items:
            if item == self.broken:
                raise InputError("item five: is odd")
            time.sleep(0.02 if item % 3 == 0 else 0)
            yield item * item, os.getpid()

    def close(self) -> None:
        if self.folder is not None:
            (self.folder / str(os.getpid())).touch()


@dataclass(frozen=True)
class Deadly(Squares):
    def do(self, items: Sequence[int]) -> Iterator[tuple[int, int]]:
        os._exit(9)


@pytest.mark.parametrize("name", EXECUTORS)
def test_rows_come_in_order_and_workers_are_closed(name, tmp_path):
    rows = [row for (row,) in find_executor(name, 2).run(Squares(folder=tmp_path), range(30))]
    assert [square for square, _ in rows] == [n * n for n in range(30)]
    processes = {process for _, process in rows}
    assert (os.getpid() in processes) == (name == "threads")
    closed = {int(path.name) for path in tmp_path.iterdir()}
    assert processes <= closed


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_error_is_raised_where_the_work_was_asked_for(name):
    with pytest.raises(InputError, match="item five: is odd"):
        list(find_executor(name, 2).run(Squares(broken=5), range(20)))


def test_a_process_that_dies_is_one_line():
    with pytest.raises(MedebenchError, match="a process died before its work"):
        list(find_executor("processes", 1).run(Deadly(), range(3)))


def test_an_unknown_executor_is_refused():
    with pytest.raises(InputError, match="executor 'ray': choose threads or processes"):
        find_executor("ray")


@dataclass
class Blocked:
    """The first item waits until it may go on."""

    go: threading.Event = field(default_factory=threading.Event)

    def open(self) -> Blocked:
        return self

    def do(self, items: Sequence[int]) -> list[int]:
        if items[0] == 0:
            self.go.wait()
        return list(items)

    def close(self) -> None:
        self.go.set()


def test_a_slow_item_holds_up_no_more_than_a_few():
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    stage = Blocked()
    results = Threads(2).run(stage, items())
    threading.Timer(0.5, stage.go.set).start()
    assert next(results) == [0]
    assert len(taken) <= 2 * AHEAD + 2
    results.close()


def test_rows_need_not_wait_for_a_slow_item():
    stage = Blocked()
    results = Threads(2, ordered=False).run(stage, range(3))
    assert [next(results), next(results)] == [[1], [2]]
    stage.go.set()
    assert list(results) == [[0]]


def test_closing_ends_the_work_soon():
    stage = Blocked()
    results = Threads(1).run(stage, range(10**9))
    stage.go.set()
    assert next(results) == [0]
    before = threading.active_count()
    results.close()
    wait_until(lambda: threading.active_count() < before)


def test_only_names_travel():
    named = Named("6", int, 6)
    assert not named.travelled
    remade, arguments = named.__reduce__()
    assert remade(*arguments).thing == 6 and remade(*arguments).travelled
    with pytest.raises(InputError, match=r"'int' was given as an object.*file\.py:Name"):
        Named(None, int, 6).__reduce__()


class Pairs:
    """A device that takes two at a time, and never an odd one beside others."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.closed = False

    def is_full(self, waiting: Sequence[int]) -> bool:
        return len(waiting) >= 2

    def finish(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        return [-item for item in items]

    def release(self) -> None:
        self.closed = True


def test_batches_are_whole_visits():
    pairs = Pairs()
    batches = Batches(pairs)
    assert list(batches.add(0, [1])) == [] and batches.visits == {0}
    assert list(batches.add(1, [2, 3, 4])) == [-1, -2, -3, -4] and batches.visits == set()
    assert list(batches.add(2, [5])) == [] and list(batches.rest()) == [-5]
    assert list(batches.rest()) == [] and pairs.batches == [[1, 2, 3, 4], [5]]
    batches.close()
    assert pairs.closed


def test_an_item_that_breaks_a_batch_takes_no_other_along():
    def inverse(items: Sequence[int]) -> list[float | str]:
        return [1 / item for item in items]

    def short(items: Sequence[int]) -> list[float | str]:
        return [1.0] if len(items) > 1 else inverse(items)

    assert one_by_one(inverse, [1, 0, 2], str) == [1.0, "division by zero", 0.5]
    assert one_by_one(short, [1, 2], str) == [1.0, 0.5]
    assert one_by_one(inverse, [], str) == []
