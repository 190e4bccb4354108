"""Text from elsewhere as a terminal may have it: to be read, never to be obeyed.

Programs, servers and models write what they like. Sequences that colour, move, delete or rename,
and characters that turn the direction of what follows, are taken out; the words stay.
"""

from __future__ import annotations

import re

#: Whole sequences of ECMA-48, so that no "[31m" is left of them: strings with an end (titles,
#: links, the clipboard), control sequences, what else begins with an escape; the 8-bit forms too.
_SEQUENCES = re.compile(
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|\x1b[ -/]*[0-~]"
)
#: What is left of C0 (but line ends and tabs) and C1; marks, embeddings, overrides and isolates of
#: direction; separators of lines that are no line ends; invisible tags.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` without anything a terminal would act on; lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    return _HALF_CHARACTERS.sub("\ufffd", _CONTROLS.sub("", text))


def escaped(json: str) -> str:
    """The same JSON value, with what a terminal would act on spelt out (`\\u009b`)."""
    return _CONTROLS.sub(_spelt, _HALF_CHARACTERS.sub(_spelt, json))


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
