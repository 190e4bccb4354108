"""Reports by section: headings as people write them, and what is missing."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.cases import Case
from medebench.metrics import Undefined, find_metric
from medebench.metrics.text.section_headings import section_text, split_sections

REPORT = """CLINICAL_HISTORY: Cough.
TECHNIQUE: Two views.
FINDINGS: Left pleural effusion. No pneumothorax.
IMPRESSION: Left effusion."""


@pytest.mark.parametrize(
    "text",
    [
        REPORT,
        "Findings:\nLeft pleural effusion. No pneumothorax.\n\nConclusion:\nLeft effusion.",
        "## Findings\nLeft pleural effusion. No pneumothorax.\n## Impression\nLeft effusion.",
        "**FINDINGS:** Left pleural effusion. No pneumothorax. **IMPRESSION:** Left effusion.",
        "FINDINGS\nLeft pleural effusion. No pneumothorax.\nIMPRESSION\nLeft effusion.",
        "FINDINGS: Left pleural effusion. No pneumothorax. IMPRESSION: Left effusion.",
    ],
)
def test_headings_are_found(text):
    assert section_text(text, "FINDINGS") == "Left pleural effusion. No pneumothorax."
    assert section_text(text, "IMPRESSION") == "Left effusion."


def test_words_in_a_sentence_are_no_headings():
    for text in (
        "The findings are normal.",
        "No prior study for comparison.",
        "His history: none of note, impression of a mass.",
        "",
    ):
        assert split_sections(text) == ()


def scored(name: str, said: str, **case):
    opened = mb.open_case(Case("1", None, "Write a report.", **({"answer": REPORT} | case)))
    try:
        return find_metric(name)(opened, said)
    except Undefined as why:
        return str(why)


def test_sections_are_scored_apart():
    swapped = "FINDINGS: Left pleural effusion. No pneumothorax.\nIMPRESSION: Right effusion."
    assert scored("finding_f1_findings", swapped) == 1
    assert scored("finding_f1_impression", swapped) == 0
    assert scored("rouge_l_findings", swapped) == 1
    assert scored("rouge_l_impression", swapped) == pytest.approx(0.5)
    assert scored("report_sections", swapped) == pytest.approx(2 / 4)
    for name in ("finding_f1_findings", "finding_f1_impression", "rouge_l_impression"):
        assert scored(name, REPORT) == 1
        # A section that was due and is not there is a failure; so is no answer at all.
        assert scored(name, "Left pleural effusion.") == scored(name, "") == 0
        assert "has no section" in scored(name, REPORT, answer="One paragraph.")
    assert scored("report_sections", REPORT) == 1
    assert "no sections" in scored("report_sections", REPORT, answer="One paragraph.")


def test_recorded_sections_come_first():
    recorded = {"report_sections": {"findings": "Cardiomegaly.", "impression": None}}
    answer = "FINDINGS: Cardiomegaly."
    assert scored("finding_f1_findings", answer, extra=recorded, answer="Text.") == 1
    assert scored("finding_f1_impression", answer, extra={"report_sections": ["odd"]}) == 0
    assert "no finding of the lexicon" in scored(
        "finding_f1_findings", "FINDINGS: Fine.", answer="FINDINGS: All is as it was."
    )
