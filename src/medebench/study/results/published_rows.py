"""Which row of the paper's Table 3 a metric of a study may be held against."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.analysis.published_tables import published_table, published_worth, worth_of
from medebench.judge.score_names import judge_of
from medebench.page.score_columns import Score
from medebench.study.design import EDITING
from medebench.study.results.results_model import StudyResults

#: Metrics that are computed as the paper did, and a near relative of one.
_EXACT = {"ssim": "SSIM", "psnr": "PSNR", "cp_published": "masked SSIM"}
_NEAR = {"cp": "masked SSIM"}
#: The paper's judge under its own rubric; ours asks in other words, so it is a relative at best.
_JUDGE, _ROWS = "gpt-4o", {"ea": "accuracy", "vq": "quality", "context": "context"}
#: A correlation over few things ranked is another quantity than one over many.
ALIKE = 2


@dataclass(frozen=True)
class Printed:
    """What the paper prints for a metric in one dimension."""

    row: str
    rho: float
    #: Of this very variant, not of a near relative.
    exact: bool
    #: What must be said beside it.
    doubt: str


def printed(score: Score | None, dimension: str) -> Printed | None:
    """None where nothing was published for the metric, or the dimension is not the paper's."""
    if score is None or dimension not in EDITING:
        return None
    row, exact = _row(score)
    if not row:
        return None
    paper = published_worth()
    return Printed(row, paper.rho[row][dimension.upper()], exact, paper.doubt)


def shown(results: StudyResults) -> list[Printed]:
    """All figures of the paper that stand beside those of the study."""
    return [
        found
        for dimension in results.dimensions
        for one in (dimension.worths.metrics if dimension.worths else ())
        if (found := printed(results.scores.get(one.metric), dimension.key))
    ]


def between_people(results: StudyResults, dimension: str) -> float | None:
    """The paper's agreement of two people, where this study asks the same of about as many."""
    models = len(published_table().models)
    alike = abs(len(results.models) - models) <= ALIKE
    return published_worth().between_people if dimension in EDITING and alike else None


def _row(score: Score) -> tuple[str, bool]:
    if score.name in _EXACT:
        return _EXACT[score.name], True
    if score.name in _NEAR:
        return _NEAR[score.name], False
    if score.family:
        found = worth_of(score.family, score.encoder)
        return found.row, found.exact
    kind = _ROWS.get(score.dimension)
    who, _, rubric = judge_of(score.name).partition("+")
    if not score.judge or kind is None or who.rpartition(":")[2] != _JUDGE:
        return "", False
    return f"judge {kind}_{'prompt' if rubric.startswith('prompt') else 'description'}", False
