"""Where outputs changed, and how much of the intended change was made."""

from __future__ import annotations

from collections.abc import Sequence

from medebench.grounding import GROUNDING_METRICS, change_of
from medebench.grounding.attention_files import write_region
from medebench.metrics.intended import EDIT_COMPLETION, EDIT_RESIDUAL
from medebench.runs.ledger import ScoreRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.stages.pixel_scores import measure
from medebench.runs.visits import Opened, Target

#: What a finding is made of, besides a judge: computed here if `score` has not done so.
MEASURES = {one.name: one for one in (*GROUNDING_METRICS, EDIT_COMPLETION, EDIT_RESIDUAL)}
_COMPARED = frozenset(metric.name for metric in GROUNDING_METRICS)


class ChangeScores(OutputStage):
    def __init__(self, runs: Sequence[Run]) -> None:
        self.wanted = {name: one.variant for name, one in MEASURES.items()}
        self._runs = tuple(runs)

    def wants(self, target: Target, sha: str | None) -> list[str]:
        """An output whose region is not on disk counts as not compared; other scores stay."""
        made = target.known.sha256 is not None
        lost = made and not self._runs[target.run].change_path(*target.place).is_file()
        lacking = super().wants(target, sha)
        return [name for name in MEASURES if name in lacking or (lost and name in _COMPARED)]

    def do(self, opened: Opened, names: Sequence[str]) -> list[ScoreRow]:
        assert opened.picture is not None
        rows = [measure(MEASURES[name], opened) for name in names]
        if any(row.value is not None and row.metric.startswith("change_") for row in rows):
            path = self._runs[opened.target.run].change_path(*opened.key)
            write_region(path, change_of(opened.case, opened.picture).region)
        return rows
