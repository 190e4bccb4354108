"""Findings of an answer against those of its reference: precision, recall, invented, omitted.

Lexical: by the words of finding_lexicon.yaml and rules, not by a model that understands a report.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.metrics.text.finding_match import FindingMatch, Statement, match_findings
from medebench.metrics.text.findings import find_findings

#: Changes when the same texts would give other numbers.
_VARIANT = "findings-2"
_NEITHER = "neither answer nor reference states a finding of the lexicon"
_RULES = (
    "Findings are found by a lexicon of about 200 and rules for negation, uncertainty and side "
    "(docs/medgen.md). Wrong side, wrong polarity, and benign for malignant do not agree; a denied "
    "finding counts only where the other text speaks of it. Undefined where nothing is stated."
)
_TOLD: dict[str, Any] = {
    "needs": ("answer",),
    "of": "said",
    "variant": _VARIANT,
}


def finding_detail(match: FindingMatch) -> dict[str, Any]:
    """What stands beside each score: how many, and which ones do not agree."""
    told: dict[str, Any] = {"in_answer": match.in_answer, "in_reference": match.in_reference}
    lists = {"wrong": _words(match.wrong), "missed": _words(match.missed)}
    return told | {name: words for name, words in lists.items() if words}


def _words(statements: Iterable[Statement]) -> list[str]:
    return [
        " ".join(filter(None, ("" if one.there else "no", one.nature, one.side, one.name)))
        for one in statements
    ]


def _matched(case: OpenCase, answer: str) -> FindingMatch:
    return match_findings(answer, case.case.answer)


def _measured(value: float | None, match: FindingMatch, why: str) -> Measured:
    if value is None:
        raise Undefined(why)
    return Measured(value, finding_detail(match))


@metric(
    "finding_precision",
    "share of the answer's statements about findings that the reference agrees with (lexical)",
    label="Finding precision (lexical)",
    definition=_RULES,
    **_TOLD,
)
def FINDING_PRECISION(case: OpenCase, answer: str) -> Measured:
    match = _matched(case, answer)
    if not match.said and match.due and not answer.strip():
        # No answer is no precise answer: a failure costs.
        return Measured(0.0, finding_detail(match))
    why = "the answer states no finding of the lexicon" if match.due else _NEITHER
    return _measured(match.precision, match, why)


@metric(
    "finding_recall",
    "share of the reference's statements about findings that the answer agrees with (lexical)",
    label="Finding recall (lexical)",
    definition=_RULES,
    **_TOLD,
)
def FINDING_RECALL(case: OpenCase, answer: str) -> Measured:
    match = _matched(case, answer)
    why = "the reference states no finding of the lexicon" if match.said else _NEITHER
    return _measured(match.recall, match, why)


@metric(
    "finding_f1",
    "agreement of answer and reference about findings, F1 of precision and recall (lexical)",
    label="Finding F1 (lexical)",
    definition=_RULES,
    **_TOLD,
)
def FINDING_F1(case: OpenCase, answer: str) -> Measured:
    match = _matched(case, answer)
    return _measured(match.f1, match, _NEITHER)


@metric(
    "findings_hallucinated",
    "share of the findings that the answer says are there and the reference does not (lexical)",
    better="lower",
    label="Findings invented (lexical)",
    definition="Of the findings that the answer says are there, the share that the reference does "
    "not say are there, whatever their side. Undefined where the answer states none: silence is "
    "no merit, and is counted by the omitted ones.",
    **_TOLD,
)
def FINDINGS_HALLUCINATED(case: OpenCase, answer: str) -> Measured:
    match = _matched(case, answer)
    if not match.stated:
        raise Undefined("the answer says of no finding of the lexicon that it is there")
    detail = {"invented": sorted(match.invented), "stated": len(match.stated)}
    return Measured(len(match.invented) / len(match.stated), detail)


@metric(
    "findings_omitted",
    "share of the reference's findings that the answer does not say are there (lexical)",
    better="lower",
    label="Findings omitted (lexical)",
    definition="Of the findings that the reference says are there, the share that the answer does "
    "not say are there, whatever their side. Undefined where the reference states none.",
    **_TOLD,
)
def FINDINGS_OMITTED(case: OpenCase, answer: str) -> Measured:
    match = _matched(case, answer)
    if not match.expected:
        raise Undefined("the reference says of no finding of the lexicon that it is there")
    detail = {"omitted": sorted(match.omitted), "expected": len(match.expected)}
    return Measured(len(match.omitted) / len(match.expected), detail)


@metric(
    "finding_coverage",
    "share of references in which the lexicon knows a finding: what finding scores rest on",
    better="neither",
    label="Finding coverage (lexical)",
    definition="1 where the lexicon finds anything in the reference, else 0. The other cases have "
    "no finding scores, unless the answer states a finding.",
    **_TOLD,
)
def FINDING_COVERAGE(case: OpenCase, answer: str) -> Measured:
    found = find_findings(case.case.answer)
    return Measured(float(bool(found)), {"in_reference": len({one.name for one in found})})
