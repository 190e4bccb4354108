"""Texts that models write for the data builder: change descriptions and paraphrases.

with Caller(find_client("openai:gpt-4o")) as caller:
    for case, written in describe_changes(caller, cases):
        print(case.id, written.description or written.reason)
"""

from medebench.judge.writing.describe import describe_ask, describe_changes
from medebench.judge.writing.paraphrase import paraphrase, paraphrase_ask
from medebench.judge.writing.results import Change, Outcome, Paraphrases, Written
from medebench.judge.writing.texts import DESCRIPTION, PARAPHRASES, Instruction

__all__ = [
    "DESCRIPTION",
    "PARAPHRASES",
    "Change",
    "Instruction",
    "Outcome",
    "Paraphrases",
    "Written",
    "describe_ask",
    "describe_changes",
    "paraphrase",
    "paraphrase_ask",
]
