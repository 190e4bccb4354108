"""The whole of the results as Markdown, to be read or put into a README."""

from __future__ import annotations

import re

from medebench.page.escape import markdown as safe
from medebench.study.results import people_tables
from medebench.study.results.answer_text import attention, overview, parts
from medebench.study.results.results_model import StudyResults


def markdown(results: StudyResults) -> str:
    lines = [f"# {safe(results.title) or 'Study'}", "", safe(overview(results)), ""]
    lines += [f"**Attention.** {safe(text)}\n" for text in attention(results)]
    for dimension in results.dimensions:
        lines += [f"## {safe(dimension.name)}", ""]
        for what, said in parts(dimension, results).items():
            lines.append(f"- **{what}.** {' '.join(map(sentence, said))}")
        lines.append("")
    lines += ["## Models", "", people_tables.standings(results).markdown()]
    if any(dimension.worths for dimension in results.dimensions):
        lines += ["## Metrics", "", people_tables.metrics(results).markdown()]
    lines += ["## Agreement", "", people_tables.agreement(results).markdown()]
    lines += ["## Annotators", "", people_tables.annotators(results).markdown()]
    notes = [*results.notes, *(f"{k}: left out, {why}." for k, why in results.left_out.items())]
    if notes:
        lines += ["## Notes", "", *(f"- {safe(note)}" for note in notes), ""]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """A sentence of `words`: what stands between backticks is code, the rest is text."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _around(part) for part in parts)


def _around(part: str) -> str:
    """Text between two codes keeps the spaces at its ends."""
    before, after = (" " if part[end : end + 1].isspace() else "" for end in (0, len(part) - 1))
    return f"{before}{safe(part)}{after}" if part.strip() else part
