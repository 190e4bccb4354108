"""A second report works out only what has changed, and says what a first one would say."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.page import content_key, figure_memory
from medebench.reporting import build_report
from medebench.reporting import statistics_memory as memory
from medebench.reporting.collect import collect
from medebench.reporting.statistics import Statistics, compute
from tests.reporting.conftest import FakeJudge, make_runs
from tests.reporting.test_build import contents
from tests.reporting.test_packs import stamps


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the real parts compute statistics, and draw figures."""
    found: Counter[str] = Counter()

    def counted(module: object, name: str) -> None:
        real = getattr(module, name)

        def call(*args: object, **given: object) -> object:
            found[name] += 1
            return real(*args, **given)

        monkeypatch.setattr(module, name, call)

    counted(memory, "compute")
    counted(figure_memory, "draw")
    return found


@pytest.fixture(scope="module")
def grounded(small_set: mb.CaseSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with a failed output, scored and grounded, and their report."""
    folder = tmp_path_factory.mktemp("grounded")
    runs = make_runs(small_set, folder, judge=FakeJudge())
    mb.ground(runs)
    build_report(runs, folder / "report")
    return folder


@pytest.fixture
def there(grounded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(grounded, tmp_path / "there", symlinks=True))


def open_runs(folder: Path) -> list[mb.Run]:
    return [mb.open_run(folder / "runs" / n) for n in ("good", "poor", "identity", "reference")]


def same_as_fresh(folder: Path, **given: str) -> None:
    """The report of now beside one that knows nothing of an earlier one."""
    runs = open_runs(folder)
    build_report(runs, folder / "report", **given)
    build_report(runs, folder / "fresh", **given)
    assert contents(folder / "report") == contents(folder / "fresh")


def test_nothing_changed_nothing_is_done(there: Path, work: Counter[str]) -> None:
    before = stamps(there / "report")
    build_report(open_runs(there), there / "report")
    assert stamps(there / "report") == before
    assert not work
    assert memory.NAME in contents(there / "report")


def rescore(folder: Path) -> None:
    class Stricter(FakeJudge):
        name = "offline-test-2"

    mb.score(open_runs(folder), judge=Stricter())


def replace_output(folder: Path) -> None:
    run = open_runs(folder)[0]
    cv2.imwrite(str(run.output_path("c2", 0)), np.full((48, 64, 3), 90, np.uint8))
    mb.score(run)


def lose_an_output(folder: Path) -> None:
    run = open_runs(folder)[1]
    cv2.imwrite(str(run.output_path("c2", 0)), np.full((48, 64, 3), 90, np.uint8))


def drop_a_run(folder: Path) -> None:
    shutil.rmtree(folder / "runs" / "poor")
    shutil.copytree(folder / "runs" / "good", folder / "runs" / "poor")


@pytest.mark.parametrize("change", [rescore, replace_output, lose_an_output, drop_a_run])
def test_other_scores_are_other_numbers(
    there: Path, work: Counter[str], change: Callable[[Path], None]
) -> None:
    before = contents(there / "report")
    change(there)
    build_report(open_runs(there), there / "report")
    assert work["compute"] == 1 and work["draw"] > 5
    assert contents(there / "report")["table.csv"] != before["table.csv"]
    same_as_fresh(there)


def test_another_headline_needs_no_other_numbers(there: Path, work: Counter[str]) -> None:
    before = contents(there / "report")
    build_report(open_runs(there), there / "report", headline="cp_published")
    assert not work
    assert contents(there / "report")["index.html"] != before["index.html"]
    same_as_fresh(there, headline="cp_published")


def test_another_version_works_everything_out_again(
    there: Path, work: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mb, "__version__", "99.0")
    content_key._code.cache_clear()
    try:
        same_as_fresh(there)
    finally:
        content_key._code.cache_clear()
    assert work["compute"] == 2


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"key": 1', b"null", b"\xff"])
def test_a_damaged_memory_is_none(there: Path, work: Counter[str], damage: bytes) -> None:
    before = contents(there / "report")
    (there / "report" / memory.NAME).write_bytes(damage)
    build_report(open_runs(there), there / "report")
    assert work["compute"] == 1
    assert contents(there / "report") == before


def test_the_right_key_with_the_wrong_content_is_none(there: Path, work: Counter[str]) -> None:
    path = there / "report" / memory.NAME
    before, text = contents(there / "report"), path.read_text()
    start = text.index('"statistics":') + len('"statistics":')
    for content in ("[]", "[[[1]],[],[],[],[]]", "7"):
        path.write_text(text[:start] + content + "}")
        build_report(open_runs(there), there / "report")
        assert contents(there / "report") == before
    assert work["compute"] == 3


def test_a_figure_that_somebody_edited_is_drawn_again(there: Path, work: Counter[str]) -> None:
    before = contents(there / "report")
    figures = sorted((there / "report" / "figures").iterdir())
    figures[0].write_bytes(figures[0].read_bytes() + b" ")
    figures[-1].unlink()
    build_report(open_runs(there), there / "report")
    assert work == {"draw": 2}
    assert contents(there / "report") == before


def test_statistics_come_back_as_they_were(there: Path) -> None:
    found = compute(collect(open_runs(there)))
    bare = replace(found, values={})
    assert any(one.interval for one in (s.micro for s in found.overall.values()))
    assert memory.restorer(Statistics)(memory.plain(bare)) == bare


def test_keys_tell_apart_what_differs() -> None:
    key = content_key.content_key
    alike = [("ab", "c"), ("a", "bc"), ["ab", "c"], {"ab": "c"}, {"ab", "c"}, ("ab", ("c",))]
    alike += [(1,), (1.0,), (True,), ("1",), (None,), ("None",), (0.0,), (-0.0,)]
    assert len({key(one) for one in alike}) == len(alike)
    assert key({"b", "a"}, np.arange(3)) == key({"a", "b"}, np.arange(3))
    assert key(np.arange(3)) != key(np.arange(3.0))
