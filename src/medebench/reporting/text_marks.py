"""What is marked in the texts of a card: what only one of two says, and the findings named."""

from __future__ import annotations

from collections.abc import Iterable

from medebench.metrics.text.findings import Finding, find_findings
from medebench.tasks import CardText
from medebench.tasks.card import Span

#: More characters than a report has; what is longer is shown without its findings.
MOST = 20_000
#: As JSON: from, to, what it is, and what to say of it.
Marks = list[list[int | str]]


def marks(text: CardText, findings: bool) -> Marks:
    """The spans of a text, those of findings among them where they are asked for."""
    spans = [*text.spans, *(_findings(text.text) if findings else ())]
    return [[one.start, one.stop, one.kind, one.words] for one in spans]


def _findings(text: str) -> Iterable[Span]:
    if len(text) > MOST:
        return []
    return [Span(one.start, one.end, "finding", in_words(one)) for one in find_findings(text)]


def in_words(one: Finding) -> str:
    """ "pleural effusion, left, uncertain" """
    said = "not there" if one.negated else "uncertain" if one.uncertain else ""
    aside = "only spoken of" if one.aside else ""
    return ", ".join(filter(None, [one.name, one.side, one.nature, said, aside]))
