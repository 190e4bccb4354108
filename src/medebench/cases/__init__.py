"""Cases, sets of them, and the pictures they point to."""

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet, Problem
from medebench.cases.load import list_case_sets, load_cases
from medebench.cases.open_case import OpenCase, open_case

__all__ = ["Case", "CaseSet", "OpenCase", "Problem", "list_case_sets", "load_cases", "open_case"]
