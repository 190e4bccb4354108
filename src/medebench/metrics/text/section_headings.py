"""Sections of a report by their headings: FINDINGS, IMPRESSION and the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

#: Headings as they are written, and the section they open.
_NAMES = {
    "findings": "FINDINGS",
    "finding": "FINDINGS",
    "observations": "FINDINGS",
    "image findings": "FINDINGS",
    "imaging findings": "FINDINGS",
    "description": "FINDINGS",
    "impression": "IMPRESSION",
    "impressions": "IMPRESSION",
    "conclusion": "IMPRESSION",
    "conclusions": "IMPRESSION",
    "interpretation": "IMPRESSION",
    "summary": "IMPRESSION",
    "opinion": "IMPRESSION",
    "assessment": "IMPRESSION",
    "diagnosis": "IMPRESSION",
    "indication": "INDICATION",
    "indications": "INDICATION",
    "clinical indication": "INDICATION",
    "reason for exam": "INDICATION",
    "reason for examination": "INDICATION",
    "history": "HISTORY",
    "clinical history": "HISTORY",
    "clinical information": "HISTORY",
    "technique": "TECHNIQUE",
    "procedure": "TECHNIQUE",
    "comparison": "COMPARISON",
    "comparisons": "COMPARISON",
    "study": "EXAMINATION",
    "exam": "EXAMINATION",
    "examination": "EXAMINATION",
    "modality": "EXAMINATION",
    "recommendation": "RECOMMENDATION",
    "recommendations": "RECOMMENDATION",
    "notification": "NOTIFICATION",
}
#: A heading in marks or capitals, with a colon, or alone on its line.
_HEADING = re.compile(
    r"(?P<lead>^[ \t]*(?:[#>*\-\d.)]+[ \t]*)*|(?<=[.!?:;])[ \t]+\**|(?<=\n)[ \t]*)"
    r"(?P<name>"
    + "|".join(sorted((name.replace(" ", "[ _]") for name in _NAMES), key=len, reverse=True))
    + r")(?P<close>\**[ \t]*:[ \t]*\**|\**[ \t]*(?=\n|$)|[ \t]+[-–—][ \t]+)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class ReportSection:
    """`text[start:end]` is what stands under the heading."""

    name: str
    start: int
    end: int


@lru_cache(8192)
def split_sections(text: str) -> tuple[ReportSection, ...]:
    """The sections of a report; a text without headings has none.

    >>> text = "FINDINGS: Clear lungs. IMPRESSION: Normal."
    >>> [(one.name, text[one.start:one.end].strip()) for one in split_sections(text)]
    [('FINDINGS', 'Clear lungs.'), ('IMPRESSION', 'Normal.')]
    """
    found = [one for one in _HEADING.finditer(text) if _is_heading(one)]
    ends = [*(one.start() for one in found[1:]), len(text)][: len(found)]
    return tuple(
        ReportSection(_NAMES[re.sub("[ _]", " ", one["name"]).lower()], one.end(), end)
        for one, end in zip(found, ends, strict=True)
    )


def _is_heading(match: re.Match[str]) -> bool:
    """In the middle of a line only capitals with a colon are a heading."""
    alone = match.start() == 0 or match.string[match.start() - 1] == "\n"
    inline = ":" in match["close"] and match["name"][0].isupper()
    marked = "*" in match["lead"] + match["close"] or "#" in match["lead"]
    return inline or (alone and (match["name"].isupper() or marked or not match["close"].strip()))


def section_text(text: str, name: str) -> str | None:
    """What stands under a heading, all its places joined; None without it.

    >>> section_text("**Impression**\\nNormal.", "IMPRESSION")
    'Normal.'
    """
    parts = [text[one.start : one.end].strip() for one in split_sections(text) if one.name == name]
    return "\n".join(parts) if parts else None
