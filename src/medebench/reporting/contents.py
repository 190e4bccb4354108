"""What all sections of a report are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from medebench.audit import SummaryRow
from medebench.judge.score_names import judge_of
from medebench.page import document
from medebench.page.figure import Drawing
from medebench.page.figure_memory import FigureMemory
from medebench.page.palette import Colour, run_colours
from medebench.page.score_columns import HEADLINES, STAND_IN
from medebench.page.section import Section
from medebench.reporting import failure_text
from medebench.reporting.case_views import Views
from medebench.reporting.collect import Material
from medebench.reporting.diagnosis import Diagnosis
from medebench.reporting.example_outputs import Example
from medebench.reporting.headline_table import MARK, MARK_MEANING, HeadlineTable
from medebench.reporting.learned import Learned
from medebench.reporting.statistics import Statistics

PACKAGE = "medebench.reporting"


@dataclass(frozen=True)
class Contents:
    material: Material
    statistics: Statistics
    table: HeadlineTable
    diagnosis: Diagnosis | None
    learned: Learned | None
    views: Views
    drawings: Sequence[Drawing]
    figures: FigureMemory
    #: By key, where the pictures of the diagnosis lie.
    example_files: Mapping[str, str]
    #: Whether the paper's numbers stand beside those of the runs.
    published: bool
    #: By the score that leads, three outputs that show what numbers look like.
    examples: Mapping[str, Sequence[Example]]
    warnings: Sequence[str]
    #: What an audit found in the cases, if there was one.
    audited: Sequence[SummaryRow] | None = None

    @cached_property
    def colours(self) -> list[Colour]:
        return run_colours(len(self.material.models), len(self.material.controls))

    @property
    def headlines(self) -> list[str]:
        """The CPs that can lead."""
        return [name for name in HEADLINES if self.material.editing and self.material.score(name)]

    def render(self, template: str, **given: Any) -> Markup:
        return document.render(
            PACKAGE,
            template,
            **{
                "material": self.material,
                "table": self.table,
                "columns": self.table.columns,
                "diagnosis": self.diagnosis,
                "learned": self.learned,
                "headlines": self.headlines,
                "colours": self.colours,
                "row_groups": row_groups,
                "group": self.material.groups[0],
                "task": self.material.task,
                "mark": MARK,
                "mark_meaning": MARK_MEANING,
                "stand_in": STAND_IN,
                "judge_of": judge_of,
                "why": failure_text,
                **given,
            },
        )

    def section(
        self,
        name: str,
        title: str,
        template: str,
        *,
        styles: Sequence[str] = (),
        scripts: Sequence[str] = (),
        drawings: Sequence[Drawing] = (),
        tables: Mapping[str, str] | None = None,
        **given: Any,
    ) -> Section:
        """The section of a template, with static styles and scripts of the report."""
        texts = {style: document.static(PACKAGE, style) for style in styles}
        html = self.render(template, drawings=drawings, **given)
        return Section(name, title, html, texts, {}, drawings, tables or {}, scripts)


def row_groups(table: HeadlineTable) -> list[tuple[str, str, Any]]:
    titles = {"model": "Models", "control": "Controls, whose answer is known"}
    found = [(kind, title, table.of(kind)) for kind, title in titles.items() if table.of(kind)]
    if table.published:
        found.append(("published", table.published.caption, table.of("published")))
    return found
