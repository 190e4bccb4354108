"""The page of a stress test: verdict, tables, figures, and every edit to look at."""

from __future__ import annotations

from medebench.stress.page.making import Making, Pictures, run_facts
from medebench.stress.page.overview import write_overview
from medebench.stress.page.write import write_page

__all__ = ["Making", "Pictures", "run_facts", "write_overview", "write_page"]
