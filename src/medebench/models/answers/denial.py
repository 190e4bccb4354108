"""Whether what is named at a place of a text is denied there: before it, or behind it."""

from __future__ import annotations

import re

_WINDOW = 80
_CLAUSE = re.compile(r"[.;:!?\n]|\b(?:but|however|although|though|so|therefore|hence|thus)\b", re.I)
_BEFORE = re.compile(
    r"""(?:\b(?:no|none[ ]of|not|never|neither|nor|without|except|excludes?|excluding|excluded
      |unlike
      |rules?[ ]out|ruled[ ]out|ruling[ ]out|rather[ ]than|instead[ ]of|absence[ ]of|lack[ ]of
      |free[ ]of|far[ ]from|absent|fails?[ ]to|failed[ ]to|lacks?|lacking
      |little[ ](?:to|evidence)|mimics?|mimicking|simulates?|negative[ ]for|less[ ]likely
      |unlikely|cannot
      |against|denies|opposed[ ]to|hardly|barely|zero|contrary[ ]to|differs?[ ]from
      |low[ ](?:probability|likelihood|chance|suspicion)[ ](?:of|for)
      |(?:inconsistent|incompatible)[ ]with|atypical[ ]for
      |kein|keine|keinen|nicht|ohne|sans|sin|senza|sem|pas|não|non)\b|n['’]t\b|不是|并非|没有|無)
    (?:[ ,/&]+(?!(?:only|just|merely)\b)[\w'’-]+){0,5}?[ ("'\[]*$""",
    re.I | re.X,
)
_BEHIND = re.compile(
    r"""[^\S\n]*[)\]"']?[^\S\n]*
    (?:[:=–—-]+[^\S\n]*(?:\w+[ ]){0,2}?
        (?:wrong|incorrect|false|no|not|unlikely|excluded|absent|negative)\b
      |[ ]?[(]-[)]|[ ](?:less[ ]likely|unlikely|improbable)\b
      |(?:[ ]?(?:can|could|may|might|would|should|is|are|was|were|has|have|be|been|seems?|appears?
        |therefore|also|clearly|thus|both|all|to|very|most)\b[ ]?){1,4}
        (?:not\b|n['’]t\b|no[ ]longer\b|wrong|incorrect|false|unlikely|less\b|ruled[ ]out|excluded
        |refuted|dismissed|discarded|absent|impossible|eliminated|improbable|out\b|never)
      |[ ]?(?:can['’]t|cannot|(?:is|are|was|does)n['’]t|(?:does|do|did)[ ]not)\b
      |,?[ ](?:but|which|though|although)[ ](?:that|this|it)?[ ]?(?:is|would[ ]be)[ ]
        (?:not|wrong|incorrect|false|an?[ ](?:mistake|error))
      |[ ](?:\w+[ ]){0,4}(?:is|are)[ ]no[ ]longer\b
      |[ ](?:ist|sind)[ ](?:nicht|falsch)\b)""",
    re.I | re.X,
)


_ALL_BUT = re.compile(r"\b(?:any|every)thing but (?:an? |the )?$", re.I)
_SUPPOSED = re.compile(
    r"""(?:\b(?:if\ (?!you\b|one\b|we\b)|unless|suppose|supposing|were|whether|risk|unclear|doubt
        |unlikely\ that|mistake\b|pitfall|for\ example|e\.g|for\ instance|in\ this\ format)\b
      |(?<!\bI\ )\b(?:might|may|could|would|some|many|wrong|mistaken?|tempting|initially|first)\b
        [^.!?\n]*\b(?:think|thought|say|argue|believe|assume|consider(?:ed)?|guess|claim|suppose
          |suggest|mean|indicate|represent|call)s?\b)
    (?:(?!\bbut\b)[^.!?\n])*$""",
    re.I | re.X,
)


def is_supposed(before: str) -> bool:
    """Whether what follows is only supposed, asked or said by others, by the sentence so far.

    >>> is_supposed("If there were fluid, the answer would be "), is_supposed("The answer is ")
    (True, False)
    """
    return bool(_SUPPOSED.search(before))


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is named only to be excluded.

    >>> is_denied("No pneumothorax.", 3, 15), is_denied("It is not left but right", 19, 24)
    (True, False)
    """
    before = text[max(0, start - _WINDOW) : start]
    if _ALL_BUT.search(before):
        return True
    before = before[max((one.end() for one in _CLAUSE.finditer(before)), default=0) :]
    if _BEFORE.search(before):
        return True
    return bool(_BEHIND.match(text, end, min(len(text), end + _WINDOW)))
