"""How much an annotator has done, and how attentively."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from medebench.study.design import Annotator, Design
from medebench.study.rankings import Answered, control_passed
from medebench.study.results.model import AnnotatorFacts


def annotator_facts(design: Design, mine: Annotator, answers: Iterable[Answered]) -> AnnotatorFacts:
    """What the results, and the administrator meanwhile, are told about one annotator."""
    given = {one.place: one for one in answers if one.annotator == mine.name}
    kinds = [task.kind for task in mine.tasks]
    done = [place for place, one in given.items() if one.state == "done"]
    passed = [
        control_passed(mine.tasks[place], given[place].ranks, design.dimensions)
        for place in done
        if kinds[place] == "control"
    ]
    ranked = [place for place in done if kinds[place] == "case"]
    times = [given[place].seconds for place in ranked]
    return AnnotatorFacts(
        mine.name,
        ranked=len(ranked),
        skipped=sum(o.state == "skipped" and kinds[p] == "case" for p, o in given.items()),
        asked=kinds.count("case"),
        controls_passed=sum(passed),
        controls_failed=len(passed) - sum(passed),
        repeated=sum(kinds[place] == "repeat" for place in done),
        seconds=median(times) if times else None,
    )
