"""The report: a page to look at, and the tables and figures that go into a paper."""

from __future__ import annotations

from medebench.reporting.build import Report, build_report
from medebench.reporting.headline_table import HeadlineTable, headline_table

__all__ = ["HeadlineTable", "Report", "build_report", "headline_table"]
