"""The parser with the names of the built-in rubrics, as most tests want it."""

from __future__ import annotations

from medebench.judge import parser
from medebench.judge.rubric_files import load_rubric

VOCABULARY = load_rubric("description-context").vocabulary
KEYS = {score: label.key for score, label in VOCABULARY.labels.items()}


def parse(text, scores, *, finish="stop"):
    return parser.parse(text, scores, VOCABULARY, finish=finish)


def complaint(parsed):
    return parser.complaint(parsed, VOCABULARY)
