"""Whether what is named at a place of a text is denied there: before it, or behind it."""

from __future__ import annotations

import re

_WINDOW = 80
_CLAUSE = re.compile(r"[.;:!?\n]|\b(?:but|however|although|though|so|therefore|hence|thus)\b", re.I)
_BEFORE = re.compile(
    r"""(?:\b(?:no|not|never|neither|nor|without|except|excludes?|excluding|excluded|unlike
      |rules?[ ]out|ruled[ ]out|ruling[ ]out|rather[ ]than|instead[ ]of|absence[ ]of|lack[ ]of
      |free[ ]of|negative[ ]for|less[ ]likely|unlikely|cannot|against|denies|opposed[ ]to
      |kein|keine|keinen|nicht|ohne|sans|sin|senza|sem|pas|não|non)\b|n['’]t\b|不是|并非|没有|無)
    (?:[ ,/&]+(?!(?:only|just|merely)\b)[\w'’-]+){0,5}?[ ("'\[]*$""",
    re.I | re.X,
)
_BEHIND = re.compile(
    r"""[^\S\n]*[)\]"']?[^\S\n]*
    (?:[:–—-]+[^\S\n]*(?:\w+[ ]){0,2}?(?:wrong|incorrect|false|no|not|unlikely|excluded)\b
      |(?:[ ]?(?:can|could|may|might|would|should|is|are|was|were|has|have|be|been|seems?|appears?
        |therefore|also|clearly|thus|both|all|to|very|most)\b[ ]?){1,4}
        (?:not\b|n['’]t\b|wrong|incorrect|false|unlikely|less\b|ruled[ ]out|excluded|absent
        |impossible|eliminated|improbable|out\b|never)
      |[ ]?(?:can['’]t|cannot|(?:is|are|was|does)n['’]t|(?:does|do|did)[ ]not)\b
      |[ ](?:ist|sind)[ ](?:nicht|falsch)\b)""",
    re.I | re.X,
)


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is named only to be excluded.

    >>> is_denied("No pneumothorax.", 3, 15), is_denied("It is not left but right", 19, 24)
    (True, False)
    """
    before = text[max(0, start - _WINDOW) : start]
    before = before[max((one.end() for one in _CLAUSE.finditer(before)), default=0) :]
    if _BEFORE.search(before):
        return True
    return bool(_BEHIND.match(text, end, min(len(text), end + _WINDOW)))
