"""Reports section by section: what stands under FINDINGS and IMPRESSION, and which ones there are.

A section that the reference has and the answer lacks was due and scores 0.
"""

from __future__ import annotations

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Metric, Undefined, metric
from medebench.metrics.text.finding_match import match_findings
from medebench.metrics.text.finding_scores import finding_detail
from medebench.metrics.text.rouge_l import plain_words, rouge_l
from medebench.metrics.text.section_headings import section_text, split_sections

FINDINGS, IMPRESSION = "FINDINGS", "IMPRESSION"


def reference_section(case: OpenCase, name: str) -> str:
    """The section of the reference: recorded by itself, or under its heading in the text."""
    recorded = case.case.extra.get("report_sections")
    text = ""
    if isinstance(recorded, dict):
        text = next((str(one) for key, one in recorded.items() if str(key).upper() == name), "")
    text = text or section_text(case.case.answer, name) or ""
    if not plain_words(text):
        raise Undefined(f"the reference has no section {name}")
    return text


def _finding_f1(section: str) -> Metric:
    @metric(
        f"finding_f1_{section.lower()}",
        f"agreement about findings in the section {section} of a report (lexical)",
        needs=("answer",),
        of="said",
        variant="findings-2 sections-1",
        label=f"Finding F1, {section.lower()} (lexical)",
        definition=f"finding_f1 of what stands under the heading {section}; 0 where the reference "
        "has the section, with a finding in it, and the answer has not.",
    )
    def score(case: OpenCase, answer: str) -> Measured:
        due, said = reference_section(case, section), section_text(answer, section)
        match = match_findings(said or "", due)
        if (value := match.f1) is None:
            raise Undefined(f"no finding of the lexicon in the section {section}")
        return Measured(value, finding_detail(match) | ({} if said else {"section": "missing"}))

    return score


def _rouge_l(section: str) -> Metric:
    @metric(
        f"rouge_l_{section.lower()}",
        f"words in the same order in the section {section} of a report (ROUGE-L)",
        needs=("answer",),
        of="said",
        variant="rouge-l-1 sections-1",
        label=f"ROUGE-L, {section.lower()}",
        definition=f"rouge_l of what stands under the heading {section}; 0 where the reference has "
        "the section and the answer has not.",
    )
    def score(case: OpenCase, answer: str) -> Measured:
        due, said = reference_section(case, section), section_text(answer, section)
        return Measured(rouge_l(said or "", due)[2], {} if said else {"section": "missing"})

    return score


FINDING_F1_FINDINGS, FINDING_F1_IMPRESSION = _finding_f1(FINDINGS), _finding_f1(IMPRESSION)
ROUGE_L_FINDINGS, ROUGE_L_IMPRESSION = _rouge_l(FINDINGS), _rouge_l(IMPRESSION)


@metric(
    "report_sections",
    "share of the reference's sections that the answer has, too",
    needs=("answer",),
    of="said",
    variant="sections-1",
    label="Report sections",
    definition="Of the sections that the reference has under headings, the share under whose "
    "headings the answer has words. It says nothing about what they say.",
)
def REPORT_SECTIONS(case: OpenCase, answer: str) -> Measured:
    due, said = _sections(case.case.answer), _sections(answer)
    if not due:
        raise Undefined("the reference has no sections")
    missing = sorted(due - said)
    return Measured(1 - len(missing) / len(due), {"missing": missing} if missing else {})


def _sections(text: str) -> set[str]:
    return {one.name for one in split_sections(text) if plain_words(text[one.start : one.end])}
