"""Text that stays text in Markdown and LaTeX, whatever a name holds."""

from __future__ import annotations

import re
import unicodedata

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "≤": r"$\le$",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "±": r"$\pm$",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "µ": r"$\mu$",
}


def markdown(text: str) -> str:
    """Text that stays text in Markdown, and stays in its cell."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def latex(text: str) -> str:
    """Text for the body of a LaTeX document; what pdflatex cannot set becomes its code point."""
    found = []
    for c in " ".join(text.split()):
        if c in _SPECIAL:
            found.append(_SPECIAL[c])
        elif c.isascii() and c.isprintable():
            found.append(c)
        elif unicodedata.category(c)[0] in "LN" and ord(c) < 0x180:
            found.append(c)  # Latin letters, which every LaTeX with UTF-8 input knows
        else:
            found.append(f"[U+{ord(c):04X}]")
    return "".join(found)
