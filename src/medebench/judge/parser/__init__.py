"""Reading a judge's answer: what it says beyond doubt, and what is wrong with the rest."""

from medebench.judge.parser.answer_parser import complaint, parse
from medebench.judge.parser.parsed import Parsed, Scored
from medebench.judge.parser.vocabulary import Label, Vocabulary

__all__ = ["Label", "Parsed", "Scored", "Vocabulary", "complaint", "parse"]
