"""When two short texts say the same: what may differ is listed here, all else counts.

Forgiven: case, a leading article, punctuation, plural, the blank between number and unit, numbers
in words, hyphens, one word or two ("gall bladder"). Not forgiven: a word more or less ("no",
"without", "right"), another number or unit, T1 for T2, hyper- for hypo-.
"""

from __future__ import annotations

import re
import unicodedata

from medebench.models.answers.number_words import NUMBER_WORDS

_ARTICLE = re.compile(r"^(?:an?|the)\s+(?=\S)")
_WORD_NUMBER = re.compile(rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b")
#: Only the endings of English plurals that leave no other word behind.
_PLURAL = re.compile(r"(?<=[a-z]{2})(?<![sui])s$")
_IES = re.compile(r"(?<=[a-z]{2})ies$")
#: "metastases", "diagnoses", but no "diseases".
_SES = re.compile(r"(?<=[a-z]{3}[^\We])([ao])ses$")
_ES = re.compile(r"(?<=ss|sh|ch)es$|(?<=[a-z]x)es$")


def same_filling(given: str, reference: str) -> bool:
    """Whether two fillings of a gap say the same.

    >>> same_filling("The lung nodules.", "lung nodule"), same_filling("5mm", "five mm")
    (True, True)
    >>> same_filling("hepatitis", "hepatitis A"), same_filling("T1", "T2")
    (False, False)
    """
    one, other = normal_form(given), normal_form(reference)
    if not one or not other:
        return False
    return one == other or _joined(one) == _joined(other)


def normal_form(text: str) -> str:
    """The text without the differences that are forgiven."""
    text = re.sub(r"(?<=\d)(?=[⁰¹²³⁴-⁹⁻])", "^", text)  # 10³ is not 103
    text = re.sub(r"(?<=\w)[-−⁻](?=[\s.,;)]|$)", " minus ", text)  # HER2- is not HER2
    text = text.replace("≥", ">=").replace("≤", "<=")
    text = unicodedata.normalize("NFKC", text).casefold().replace("µ", "μ").replace("×", "x")
    # Signs that mean something stay: a comparison, a sign of a number, per cent, a decimal point.
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<![\w.])-(?=\d)", "minus ", text)
    text = re.sub(r"(?<=\d)\s*[-–—]\s*(?=\d)", " to ", text)
    text = re.sub(r"(?<=\d)\s*x\s*(?=\d)", " x ", text)
    text = re.sub(r"[.](?!\d)", " ", re.sub(r"(?<!\d)[.](?=\d)", "0.", text))
    text = re.sub(r"[^\w\s.%<>=+±°/]|_", " ", text)
    text = _ARTICLE.sub("", " ".join(text.split()))
    text = _WORD_NUMBER.sub(lambda found: str(NUMBER_WORDS[found[0]]), text)
    text = re.sub(r"\b(\d+)\.0+\b(?![.\d])", r"\1", text)
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?=[a-zμ°%][a-zμ°%³²/]*(?:\s|$))", r"\1 ", text)
    return " ".join(_singular(word) for word in text.split())


def _singular(word: str) -> str:
    if not word.isalpha() or len(word) < 4:
        return word
    if _IES.search(word):
        return _IES.sub("y", word)
    if _SES.search(word):
        return _SES.sub(r"\1sis", word)
    return _ES.sub("", word) if _ES.search(word) else _PLURAL.sub("", word)


def _joined(text: str) -> str:
    """Without blanks between letters: "gall bladder", never between numbers nor behind "not"."""
    return re.sub(r"(?<=[^\W\d_]{3})(?<!\bnot) (?=[^\W\d_]{3})", "", text)
