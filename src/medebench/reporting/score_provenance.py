"""What stands beside the scores in the ledgers: who judged, with which weights, what was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from medebench.judge.score_names import judge_text
from medebench.page.score_columns import DIAGNOSTIC
from medebench.runs.ledger import ScoreRow, SetRow
from medebench.runs.stages.run_diagnosis import FINDING


class Judges:
    """Who gave the scores: the ledger keeps it beside every one of them.

    Models are heard before controls, whose scores lie at the ends of the scale and would make
    repeats look more alike than they are.
    """

    def __init__(self) -> None:
        self.details: dict[str, dict[str, Any]] = {}
        #: metric -> judge and how it was asked -> runs
        self.names: dict[str, dict[str, list[str]]] = {}
        self.repeats: dict[str, list[list[float]]] = {}
        self._models = False

    def hear(self, run: str, control: bool, row: ScoreRow) -> None:
        self._models |= not control
        detail = row.detail
        # A finding rests on somebody's judgement, but it is none.
        if row.metric == FINDING or not (who := judge_text(detail)):
            if "metric" in detail:
                self.details.setdefault(row.metric, detail)
            return
        known = self.details.get(row.metric)
        # One that was refused or failed does not tell everything about its judge.
        if known is None or len(known) < len(detail):
            self.details[row.metric] = detail
        if row.value is not None:
            _add(self.names, row.metric, who, run)
        values = detail.get("values")
        if isinstance(values, list) and not (self._models and control):
            self.repeats.setdefault(row.metric, []).append([float(one) for one in values])


@dataclass
class Reading:
    """The texts that a metric read: of how many cases, and which were too long for it."""

    texts: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    #: Tokens there is room for, and those of the longest text.
    room: int = 0
    longest: int = 0


class Weights:
    """Which weights gave the scores of metrics that have any, and what of the texts they read."""

    def __init__(self) -> None:
        #: metric -> variant -> runs
        self.variants: dict[str, dict[str, list[str]]] = {}
        self.readings: dict[str, Reading] = {}

    def hear(self, run: str, key: str, row: ScoreRow) -> None:
        """`key` is the case's; only scores that are one are to be heard."""
        variant = row.detail.get("variant")
        # What the diagnosis calls a variant is the map it looked at.
        if row.metric in DIAGNOSTIC or row.value is None or not variant or judge_text(row.detail):
            return
        _add(self.variants, row.metric, str(variant), run)
        reading = self.readings.setdefault(row.metric, Reading())
        reading.texts.add(key)
        tokens, read = row.detail.get("tokens"), row.detail.get("read")
        if isinstance(tokens, int) and isinstance(read, int) and read < tokens:
            reading.cut.add(key)
            reading.room = max(reading.room, read)
            reading.longest = max(reading.longest, tokens)

    def hear_set(self, run: str, row: SetRow) -> None:
        if row.value is not None:
            _add(self.variants, row.metric, row.variant, run)


def _add(found: dict[str, dict[str, list[str]]], metric: str, what: str, run: str) -> None:
    runs = found.setdefault(metric, {}).setdefault(what, [])
    if run not in runs:
        runs.append(run)
