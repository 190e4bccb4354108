"""Cases, sets of them, and the pictures they point to."""

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet, Problem
from medebench.cases.load import load_cases
from medebench.cases.opened import OpenCase, open_case

__all__ = ["Case", "CaseSet", "OpenCase", "Problem", "load_cases", "open_case"]
