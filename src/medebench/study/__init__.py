"""People ranking outputs, blind; how far they agree with each other and with the metrics."""

from medebench.study.design import Study, open_study
from medebench.study.rankings_source import export_rankings, read_study

__all__ = ["Study", "export_rankings", "open_study", "read_study"]
