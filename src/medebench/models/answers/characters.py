"""Making the characters of an answer uniform, and dropping what is not part of the answer."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\ufe0e\ufe0f"
_INVISIBLE += "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_SPACES = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
)
_TABLE: dict[int, str | None] = {ord(c): None for c in _INVISIBLE}
_TABLE |= {ord(c): " " for c in _SPACES + "\u3000"}
_TABLE |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TABLE |= {0x066A: "%", 0x066B: ".", 0x2215: "/", 0x2044: "/", 0x2028: "\n", 0x2029: "\n", 0: " "}
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")

#: Marks of a final part that follows hidden reasoning; all before the last one is dropped.
_FINAL_PART = re.compile(r"<\|channel\|>\s*final\s*<\|message\|>", re.I)
_THOUGHT = re.compile(
    r"<(?P<end>/?)\s*(?:think|thinking|thought|thoughts|reasoning|scratchpad|reflection)\s*>"
    r"|◁(?P<end2>/?)think▷|\[(?P<end3>/?)THINK\]",
    re.I,
)
#: Filler that no pattern for a label, a number or a separator accepts.
BLANK = "\x00"


def uniform(text: str) -> str:
    """Full-width and foreign digits become ASCII, invisible characters go, lines end in \\n."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_TABLE)
    return _OTHER_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def without_thoughts(text: str) -> str:
    """The answer proper. What is thought and not closed hides all that follows it."""
    kept, _ = spoken_parts(text)
    return "\n".join(text[start:end] for start, end in kept).strip("\ufeff \n\t")


def spoken_parts(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Where the answer proper stands, and whether a thought was never closed."""
    start, depth = 0, 0
    for final in _FINAL_PART.finditer(text):
        start = final.end()
    kept: list[tuple[int, int]] = []
    for tag in _THOUGHT.finditer(text, start):
        if tag["end"] or tag["end2"] or tag["end3"]:
            if depth == 0:
                # The opening tag was part of the chat template: all so far was thought.
                kept.clear()
            depth = max(0, depth - 1)
            start = tag.end()
        else:
            if depth == 0:
                kept.append((start, tag.start()))
            depth += 1
    if depth == 0:
        kept.append((start, len(text)))
    return kept, depth > 0


_MARKUP = re.compile(r"\*+|`+|\$+|__+|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|</?[a-zA-Z][^<>\n]{0,60}>")
_BOXED = re.compile(r"\\(?:boxed|text|mathbf|textbf)\{([^{}\n]{0,60})\}")


def plain(text: str) -> str:
    """Markdown, HTML and LaTeX marks as blanks; every other character keeps its position."""
    text = _BOXED.sub(lambda m: " " * (m.start(1) - m.start()) + m[1] + " ", text)
    return _MARKUP.sub(lambda m: " " * len(m[0]), text)


_EDGES = " \t\n\r,;:.·•|—–-\"'“”‘’()[]{}*#>"


_ENDS = " \t,;:|—–-\"'“‘([{}*#>\\"


def tidy(text: str, limit: int = 2000) -> str:
    """A reason or a difference as one line, without the marks around it."""
    line = " ".join(plain(text[: 4 * limit]).replace(BLANK, " ").split())
    line = line.replace("( )", "").replace("()", "")
    while (bare := _LEAD.sub("", line.lstrip(_EDGES))) != line:
        line = bare
    return line.rstrip(_ENDS).strip()[:limit]


_LEAD = re.compile(
    r"^(?:reason(?:ing|s)?|justification|explanation|rationale|comment|why|because|理由|原因|说明"
    r"|begründung|raison|motivo|justificación)[\s\"'”]*[:=\-–—]+\s*|^because\s+",
    re.I,
)
