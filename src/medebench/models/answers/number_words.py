"""Whole numbers below a hundred in words."""

from __future__ import annotations

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
#: "twenty one" is 21; hyphens are blanks.
NUMBER_WORDS = {word: value for value, word in enumerate(_ONES)}
NUMBER_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
NUMBER_WORDS |= {
    f"{tens} {one}": 10 * value + n
    for value, tens in enumerate(_TENS, 2)
    for n, one in enumerate(_ONES[1:10], 1)
}
