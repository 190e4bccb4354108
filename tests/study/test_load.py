"""Fifty people at once, and a server that dies among them; on both databases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medebench.study.design import open_study
from medebench.study.server.answer_store import open_store
from tests.patience import PATIENCE
from tests.study.conftest import Process, loading
from tests.study.small import small_design, write_study

PEOPLE = 50


def stored(folder: Path, database: str) -> dict[tuple[str, int, int], Any]:
    """All versions of all answers."""
    study = open_study(folder)
    with open_store(study, database) as store:
        return {
            (one.annotator, one.place, one.version): one.ranks
            for annotator in study.design.annotators
            for place in range(len(annotator.tasks))
            for one in store.versions(annotator.name, place, most=10_000)
        }


def acknowledged(told: dict[str, Any]) -> dict[tuple[str, int, int], Any]:
    found = {(name, place, version): ranks for name, place, version, ranks in told["acknowledged"]}
    assert len(found) == len(told["acknowledged"])
    return found


def test_fifty_annotators_at_once(tmp_path: Path, database: str, start: Callable[..., Process]):
    write_study(tmp_path / "study", small_design(annotators=PEOPLE))
    server = start(tmp_path / "study", database)
    with loading(server.told, seconds=1.0) as load:
        told = json.loads(load.communicate(timeout=PATIENCE)[0])
    assert told["problems"] == [] and told["broken"] == 0
    kept = acknowledged(told)
    assert len({name for name, _, _ in kept}) == PEOPLE
    # Everything acknowledged is there as it was sent, and nothing else is.
    assert stored(tmp_path / "study", database) == kept


def test_a_server_killed_among_fifty_annotators_loses_nothing_it_acknowledged(
    tmp_path: Path, database: str, start: Callable[..., Process]
):
    write_study(tmp_path / "study", small_design(annotators=PEOPLE))
    server = start(tmp_path / "study", database)
    with loading(server.told, PATIENCE, saves=2 * PEOPLE) as load:
        server.process.kill()
        told = json.loads(load.communicate(timeout=PATIENCE)[0])
    assert told["broken"] == PEOPLE and told["problems"] == []
    kept = acknowledged(told)
    assert len(kept) > PEOPLE

    again = start(tmp_path / "study", database)  # nothing has to be repaired by hand
    with loading(again.told, seconds=0.3) as load:
        later = json.loads(load.communicate(timeout=PATIENCE)[0])
    assert later["problems"] == [] and later["broken"] == 0
    after = stored(tmp_path / "study", database)
    for where, ranks in (kept | acknowledged(later)).items():
        assert after[where] == ranks
    # Of each person at most the save that was under way can be there without having been answered.
    extra = set(after) - set(kept) - set(acknowledged(later))
    assert len(extra) <= PEOPLE and len({name for name, _, _ in extra}) == len(extra)
    for name, place, version in after:
        assert version == 1 or (name, place, version - 1) in after
