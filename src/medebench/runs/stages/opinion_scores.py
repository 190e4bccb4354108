"""A judge that asks nobody, and so answers where the picture is decoded."""

from __future__ import annotations

import time
from collections.abc import Sequence

from medebench.engine.named import Named
from medebench.judge import Judge, assess_now
from medebench.reason import with_kind
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.visits import Opened


class OpinionScores(OutputStage):
    needs = "output"

    def __init__(self, judge: Named[Judge]) -> None:
        self._judge = judge
        self.wanted = dict.fromkeys(judge.thing.scores, judge.thing.variant)

    def do(self, opened: Opened, names: Sequence[str]) -> list[ScoreRow]:
        assert opened.output is not None
        judge, start = self._judge.thing, time.perf_counter()
        verdicts = assess_now(judge, opened.case, opened.output).verdicts
        seconds = (time.perf_counter() - start) / len(judge.scores)
        where, sha = opened.key, opened.sha
        return [
            ScoreRow(*where, name, sha, one.value, with_kind(one.reason), one.detail, seconds)
            for name, one in verdicts.items()
        ]
