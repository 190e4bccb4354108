"""What a written text must be like; each check gives a complaint or None."""

from __future__ import annotations

import re
import unicodedata

from medebench.models.answers.refusal import is_refusal
from medebench.models.writing.writer_prompts import FEWEST_WORDS, MOST_WORDS

_WORD = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*")
_FIELD_WORDS = 40
_SHORTEST_PARAPHRASE = 3
_NOTHING = re.compile(
    r"\W*(?:n/?a|none|null|nil|unknown|unclear|unspecified|undetermined|not[ ](?:known|visible"
    r"|applicable|available|specified|determined)|tbd|todo|\w?)\W*",
    re.I,
)
_PICTURE = r"(?:images?|pictures?|photo(?:graph)?s?|panels?|figures?)"
_MENTION = re.compile(
    rf"""\b(?:{_PICTURE}|fig\.?)[ ]?(?:no\.?[ ]?|number[ ]|\#[ ]?)?(?:\d+\b|(?-i:[A-D])\b)
    |\b(?:left|right|first|second|top|bottom|upper|lower|previous|reference|edited|original|input
        |output|before|after|former|latter|provided|given|attached)
        (?:[- ](?:hand|side|most))?[ ]{_PICTURE}\b
    |\b{_PICTURE}[ ](?:on|to|at)[ ]the[ ](?:left|right|top|bottom)\b
    |\b(?:both|two|these)[ ]{_PICTURE}\b|\bside[- ]by[- ]side\b""",
    re.I | re.X,
)
_FILE = re.compile(
    r"[\w-]+\.(?:png|jpe?g|tiff?|bmp|gif|webp|dcm|dicom|nii|gz|json|csv)\b|\bhttps?:|\bwww\.", re.I
)
#: What patients may be unable to do in a description that refuses nothing.
_PHYSICAL = re.compile(
    r"(?<!\bI am )(?<!\bI['’]m )\b(?:unable|not able) to (?:open|see|look|complete)", re.I
)
_TAG = re.compile(r"</?[a-z][^<>]{0,80}>", re.I)
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|vs|cf|approx|ca|resp|incl|no|nos|fig|dr|st|et al|viz|max|min)\.(?=\s)"
    r"|\b(?-i:[A-Z])\.(?=\s+(?-i:[a-z]))",
    re.I,
)
_NEXT_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+\S")
_SIDE = re.compile(r"\b(?:(left|right)(?:most|wards?|sided)?|both|bilateral(?:ly)?)\b", re.I)


def words(text: str) -> int:
    return len(_WORD.findall(text))


def same(text: str) -> str:
    """What is left of a text when case, punctuation and spaces do not count."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def text_problem(text: str) -> str | None:
    """What no text of any kind may be."""
    if not text.strip() or _NOTHING.fullmatch(text):
        return "is empty"
    if is_refusal(_PHYSICAL.sub("", text)):
        return "is a refusal"
    if _TAG.search(text):
        return "holds a tag or a placeholder instead of text"
    if found := _FILE.search(text):
        return f"names a file or address ('{found[0]}')"
    letters = [c for c in text if c.isalpha()]
    if len([c for c in letters if c.isascii()]) < 0.9 * len(letters):
        return "is not written in English"
    if len(letters) < 0.3 * len("".join(text.split())):
        return "is hardly made of words"
    return None


def _common(text: str) -> str | None:
    if problem := text_problem(text):
        return problem
    if found := _MENTION.search(text):
        return f"speaks of the pictures ('{found[0]}') instead of the anatomy"
    return None


def field_problem(text: str) -> str | None:
    if problem := _common(text):
        return problem
    if words(text) > _FIELD_WORDS:
        return f"has more than {_FIELD_WORDS} words"
    return None


def sentence_problem(text: str, prompt: str) -> str | None:
    if problem := _common(text):
        return problem
    if _NEXT_SENTENCE.search(_ABBREVIATION.sub("", text)):
        return "is more than one sentence"
    count = words(text)
    if not FEWEST_WORDS <= count <= MOST_WORDS:
        return f"has {count} words; {FEWEST_WORDS} to {MOST_WORDS} are asked for"
    if same(text) == same(prompt):
        return "merely repeats the instruction"
    return None


def paraphrase_problem(text: str, prompt: str) -> str | None:
    if problem := text_problem(text):
        return problem
    count = words(text)
    if count < _SHORTEST_PARAPHRASE:
        return f"has fewer than {_SHORTEST_PARAPHRASE} words"
    if count > (limit := max(MOST_WORDS, 2 * words(prompt))):
        return f"has more than {limit} words"
    here, there = _sides(text), _sides(prompt)
    if here != there and 1 in (len(here), len(there)):
        return "does not name the same side as the instruction"
    return None


def _sides(text: str) -> set[str]:
    named = [found[1] for found in _SIDE.finditer(text)]
    return {"left", "right"} if None in named else {side.lower() for side in named}
