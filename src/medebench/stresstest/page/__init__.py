"""The page of a stress test: verdict, tables, figures, and every edit to look at."""

from __future__ import annotations

from medebench.stresstest.page.page_facts import PageContext, Pictures, run_facts
from medebench.stresstest.page.page_files import write_page
from medebench.stresstest.page.stress_overview import write_overview

__all__ = ["PageContext", "Pictures", "run_facts", "write_overview", "write_page"]
