"""Reading a judge's answer: what it says beyond doubt, and what is wrong with the rest."""

from medebench.judge.parsing.labels import KEYS, NAMES
from medebench.judge.parsing.model import Parsed, Scored
from medebench.judge.parsing.read import complaint, parse

__all__ = ["KEYS", "NAMES", "Parsed", "Scored", "complaint", "parse"]
