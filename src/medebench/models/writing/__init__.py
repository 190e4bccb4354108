"""Texts that models write for the data builder: change descriptions and paraphrases.

with Caller(find_client("openai:gpt-4o")) as caller:
    for case, written in describe_changes(caller, cases):
        print(case.id, written.description or written.reason)
"""

from medebench.models.writing.change_descriptions import describe_ask, describe_changes
from medebench.models.writing.paraphrases import paraphrase, paraphrase_ask
from medebench.models.writing.writer_prompts import DESCRIPTION, PARAPHRASES, Instruction
from medebench.models.writing.written_texts import Change, Outcome, Paraphrases, Written

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
