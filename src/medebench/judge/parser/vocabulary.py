"""How models spell the names of the scores that a rubric asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from medebench.judge.parser.parsed import Candidate
from medebench.judge.parser.score_numbers import Reading, RubricScale

SCORE_WORD = (
    r"(?:scores?|ratings?|grade|value|mark|评分|得分|分数|スコア|評価|점수|bewertung|punktzahl"
    r"|note|puntuación|pontuação|nota|punteggio|оценка)"
)
REASON_WORD = (
    r"(?:reasons?|reasoning|justification|explanation|rationale|comments?|analysis|why|notes?"
    r"|description|details|理由|原因|说明|begründung|raison|motivo)"
)
_SCORE_KEY = re.compile(rf"^(?:(?:final|numeric|numerical) )?{SCORE_WORD}(?: for| of)?\b ?", re.I)
_REASON_END = re.compile(rf" ?\b{REASON_WORD}$", re.I)
_REASON_KEY = re.compile(rf"^{REASON_WORD}(?: for| of)?\b ?", re.I)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FILL = re.compile(r"[\s_\-.:*#`\"'’]+")
_PARENTHESIS = re.compile(r"\(([^()]*)\)")
_EASTERN = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NUMBERING = re.compile(r"^(?:\d{1,2}|[a-z]|step \d)[.) ]+(?=\w)")

NAME_KEYS = {"criterion", "criteria", "metric", "name", "dimension", "aspect", "category", "label"}
NAME_KEYS |= {"type", "measure", "title", "item", "指标", "维度"}


@dataclass(frozen=True)
class Key:
    """What a key of a JSON object speaks of."""

    score: str | None
    part: str  # "score", "reason" or "" for a key that may hold both
    note: str  # what stood in parentheses, such as the scale
    generic: bool = False

    def candidate(self, reading: Reading, reason: str, position: int) -> Candidate:
        assert self.score is not None
        found = reading.value, reading.problem
        return Candidate(self.score, *found, reason, position, self.generic)


class Label(BaseModel):
    """How a score is called: its key in the JSON that is asked for, and what models write."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Without one, its own name is the key.
    key: str = Field(default="", pattern=r"^[a-z][a-z0-9_]*$|^$")
    #: In any language; the words of the key always count.
    spellings: tuple[str, ...] = ()
    #: As it stands: "EA".
    short: str = ""
    #: Names that count only at the beginning of a line, and where no other one is scored.
    generic: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return self.key.replace("_", " ")

    @property
    def all_spellings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.words, *self.spellings)))


class Vocabulary:
    """The names of a rubric's scores, ready to be found in an answer, and the scale of these."""

    def __init__(
        self,
        labels: Mapping[str, Label],
        scores: Iterable[str],
        low: int = 0,
        top: int = 10,
        counts: bool = False,
    ) -> None:
        self.labels = labels
        named = [label.short for label in labels.values() if label.short]
        named += [labels[score].key.partition("_")[0] for score in scores]
        self.scale = RubricScale(low, top, tuple(named), counts)
        self._names = list(labels)
        groups = (f"(?P<s{n}>{_pattern(one)})" for n, one in enumerate(labels.values()))
        #: A name of a score anywhere in a text.
        self.label = re.compile("|".join(groups), re.I)
        groups = (
            rf"(?P<s{n}>(?:{_spaced(one.generic)})(?![^\W_]))"
            for n, one in enumerate(labels.values())
            if one.generic
        )
        #: "Accuracy:" and the like, at the beginning of a line.
        self.generic = re.compile(rf"^[^\w\n]{{0,20}}(?:{'|'.join(groups) or '(?!)'})", re.I | re.M)
        self._specific = {
            _FILL.sub(" ", word.lower()): name
            for name, label in labels.items()
            for word in (*label.all_spellings, label.short)
            if word
        }
        self._generic = {word: name for name, one in labels.items() for word in one.generic}
        end = f"out of {top}"
        self._score_end = re.compile(
            rf" ?\b(?:(?:final|numeric) )?{SCORE_WORD}(?: {end})?$| {end}$", re.I
        )
        self.read_key = lru_cache(maxsize=4096)(self._read_key)

    def found(self, match: re.Match[str]) -> tuple[str, int, int]:
        """The score that a match of `label` or `generic` names, and where the name stands."""
        group = match.lastgroup or ""
        return self._names[int(group[1:])], match.start(group), match.end(group)

    def _read_key(self, key: str) -> Key:
        text = _CAMEL.sub(" ", key[:120])
        note = " ".join(_PARENTHESIS.findall(text))
        text = _FILL.sub(" ", _PARENTHESIS.sub(" ", text)).strip().lower()
        text = _NUMBERING.sub("", text)
        if text in self._specific:
            # A criterion may be called "reasoning", or end in "description".
            return Key(self._specific[text], "", note)
        part = ""
        for part_name, patterns in (
            ("reason", (_REASON_END, _REASON_KEY)),
            ("score", (self._score_end, _SCORE_KEY)),
        ):
            for pattern in patterns:
                shorter = pattern.sub("", text, count=1).strip()
                if shorter != text:
                    text, part = shorter, part or part_name
        if text in self._specific:
            return Key(self._specific[text], part, note)
        if text in self._generic:
            return Key(self._generic[text], part, note, generic=True)
        return Key(None, part if not text else "", note)


def _spaced(spellings: Iterable[str]) -> str:
    escaped = (re.escape(one).replace(r"\ ", r"[ \t_\-]{0,3}") for one in spellings)
    return "|".join(sorted((one.replace("'", "['’]") for one in escaped), key=len, reverse=True))


def _pattern(label: Label) -> str:
    """Names in scripts with blanks stand alone; the others may have neighbours."""
    eastern = [one for one in label.all_spellings if _EASTERN.search(one)]
    latin = _spaced(one for one in label.all_spellings if one not in eastern)
    latin += f"|(?-i:{re.escape(label.short)})" if label.short else ""
    alone = rf"(?<![^\W_])(?:{latin})(?![^\W_])" if latin else "(?!)"
    return f"{alone}|{_spaced(eastern)}" if eastern else alone
