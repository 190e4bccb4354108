"""What the administrator sees: progress, time, attention, agreement so far."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from medebench.study.design import Annotator, Study, Task
from medebench.study.rankings import Answer, from_answers
from medebench.study.server.answer_store import Store
from medebench.study.server.people import Person
from medebench.study.server.security import log


class Overview:
    """Made anew only when something was saved since the last time."""

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._lock = threading.Lock()
        self._made_at = -1
        self._made: dict[str, Any] = {}

    def show(self) -> dict[str, Any]:
        people = self._store.people()
        with self._lock:
            saved = self._store.count()
            if saved != self._made_at:
                self._made = _from_answers(self._study, self._store.answers())
                self._made_at = saved
            made = self._made
        return {
            "title": self._study.design.title,
            "closed": self._store.closed(),
            "dimensions": [one.model_dump() for one in self._study.design.asked],
            **made,
            "annotators": [one | _invited(people.get(one["name"])) for one in made["annotators"]],
        }


def _invited(person: Person | None) -> dict[str, bool]:
    revoked = bool(person and person.revoked_at)
    return {"invited": person is not None and not revoked, "revoked": revoked}


def _from_answers(study: Study, answers: list[Answer]) -> dict[str, Any]:
    design = study.design
    by_place = {(one.annotator, one.place): one for one in answers}
    skips = [
        {"annotator": annotator.name, "number": number, "reason": answer.reason}
        | {"case": design.cases[task.case].id}
        for annotator in design.annotators
        for place, (number, task) in enumerate(_numbered(annotator))
        if (answer := by_place.get((annotator.name, place))) and answer.state == "skipped"
    ]
    return {
        "annotators": [_progress(study, one, by_place) for one in design.annotators],
        "skips": skips,
        "agreement": _agreement(study, answers),
    }


def _numbered(annotator: Annotator) -> Iterator[tuple[int | None, Task]]:
    """The tasks with the numbers that their annotator sees; a trial has none."""
    numbers = count(1)
    for task in annotator.tasks:
        yield None if task.kind == "trial" else next(numbers), task


def _progress(
    study: Study, annotator: Annotator, by_place: dict[tuple[str, int], Answer]
) -> dict[str, Any]:
    from medebench.study.rankings_source import annotator_facts
    from medebench.study.results.thresholds_in_words import doubts

    facts = annotator_facts(study.design, annotator, by_place.values())
    kinds = [task.kind for task in annotator.tasks]
    mine = {place: one for (name, place), one in by_place.items() if name == annotator.name}
    states = Counter(one.state for place, one in mine.items() if kinds[place] != "trial")
    passed, failed = facts.controls_passed, facts.controls_failed
    waiting = kinds.count("control") - passed - failed
    return {
        "name": annotator.name,
        "tasks": len(kinds) - kinds.count("trial"),
        "done": states["done"],
        "skipped": states["skipped"],
        "draft": states["draft"],
        "lastSaved": max((one.saved_at for one in mine.values()), default=None),
        "medianSeconds": facts.seconds,
        "controls": {"passed": passed, "failed": failed, "open": waiting},
        "repeats": {"done": facts.repeated, "of": kinds.count("repeat")},
        # What the results will say against the annotator, told apart by its number.
        "doubts": {
            "seconds": "; ".join(doubts(replace(facts, controls_failed=0))),
            "controls": "; ".join(doubts(replace(facts, seconds=None))),
        },
    }


def _agreement(study: Study, answers: list[Answer]) -> dict[str, Any]:
    from medebench.analysis.agreement import agreement

    try:
        rankings = from_answers(study.design, answers)
        ranked = {key: rankings.ranked(key) for key in rankings.dimensions}
        found = {key: agreement(one) for key, one in ranked.items()}
    except Exception:
        # Whatever is wrong with a number, the study must still be possible to watch and to close.
        log.exception("agreement could not be computed")
        nothing = dict.fromkeys(("spearman", "kendall", "alpha"))
        reason = "could not be computed; the server's log says why"
        return {key: nothing | {"cases": 0, "reason": reason} for key in study.design.dimensions}
    return {
        key: {
            "spearman": one.spearman.value,
            "kendall": one.kendall.value,
            "alpha": one.alpha.value,
            # Those that at least two people ranked.
            "cases": int(((~np.isnan(ranked[key].ranks)).any(axis=2).sum(axis=0) >= 2).sum()),
            "reason": next(
                (e.reason for e in (one.spearman, one.kendall, one.alpha) if e.value is None), ""
            ),
        }
        for key, one in found.items()
    }
