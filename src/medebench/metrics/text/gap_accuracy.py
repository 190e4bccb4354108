"""Whether what was put into a gap says the same as the reference."""

from __future__ import annotations

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, metric
from medebench.metrics.text.given_answer import answer_text, require_kind
from medebench.metrics.text.harmless_differences import same_filling
from medebench.models.answers.gap_answer import read_gap
from medebench.outputs import Output


@metric(
    "gap_accuracy",
    "the gap was filled with the words of the reference",
    needs=("answer",),
    label="Gap accuracy",
    of="output",
    definition=(
        "1 where the filling equals the reference but for case, a leading article, punctuation, "
        "plural, the blank before a unit and numbers in words. A negation, a side, a number, a "
        "unit or any other word makes it 0; so does an answer that could not be read, and says so."
    ),
)
def GAP_ACCURACY(case: OpenCase, output: Output | str) -> Measured:
    require_kind(case, "gap", "gap_accuracy")
    text, cut = answer_text(output)
    found = read_gap(text, case.case.prompt, cut=cut)
    right = next((one for one in found.readings if same_filling(one, case.case.answer)), None)
    told: dict[str, str] = {"status": found.status}
    if found.readings:
        told["read"] = found.text if right is None else right
    return Measured(float(right is not None), told)
