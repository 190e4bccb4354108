"""Can I trust this model: one row of plain answers for each, before any table of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from medebench.analysis.estimate import Estimate
from medebench.page.number import between, counted, listed, number, percent
from medebench.page.score_columns import Score, dimensions
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.reporting.answers_read import AnswersRead, answers_read
from medebench.reporting.collect import Entry, Material
from medebench.reporting.statistics import CONTROLS, MODELS, Statistics, Summary, lifted
from medebench.reporting.steering import is_blind

Mark = Literal["yes", "partly", "no", "unknown"]
SIGNS: dict[Mark, str] = {"yes": "✓", "partly": "~", "no": "✗", "unknown": "?"}
NAMES: dict[Mark, str] = {"yes": "yes", "partly": "in part", "no": "no", "unknown": "not known"}
#: From bad to good; what is not known claims least.
_ORDER: tuple[Mark, ...] = ("unknown", "no", "partly", "yes")
#: On a scale from 0 to 1: a mean of at least GOOD whose interval stays above POOR is a yes, one
#: below POOR whose interval stays below GOOD a no, anything between is in part.
GOOD, POOR = 0.8, 0.5
#: A model that delivers less of what was asked for than this does not deliver.
DELIVERED = 0.95
#: A group with fewer cases is not named as the weakest, if there are larger ones.
FEW = 4
NOTHING = "identity"
TRUST = "Trust it?"
#: With fewer source images a reader is warned.
ENOUGH = 30
_QUESTIONS = {"ea": "Edits", "intended": "Edits", "cp": "Preserves", "vq": "Looks right"}
_EDITS = ("ea", "intended")
#: What scores of texts answer; the paper's words for them are no questions.
_ANSWERS = {
    "choice_accuracy": "Picks right",
    "gap_accuracy": "Fills gaps",
    "key_accuracy": "Answers right",
    "finding_f1": "Reports findings",
    "overall": "Judged good",
}
#: A control that has the answer is no floor.
_CEILING = "reference"


@dataclass(frozen=True)
class Answer:
    """The answer to one question: a mark, a few words, and the numbers they come from."""

    question: str
    mark: Mark
    words: str
    numbers: str = ""
    #: Whether it rests on a stand-in for a judge.
    stand_in: bool = False

    @property
    def sign(self) -> str:
        return SIGNS[self.mark]

    @property
    def name(self) -> str:
        return NAMES[self.mark]

    @property
    def asked(self) -> str:
        """The question within a sentence."""
        return self.question if self.question.isupper() else self.question.lower()


@dataclass(frozen=True)
class Verdict:
    """One model, or a control, which has numbers but no marks."""

    entry: Entry
    answers: tuple[Answer, ...]
    weakest: str = ""
    sure: str = ""

    @cached_property
    def trust(self) -> Answer:
        """No, where something measured is bad; not known, where nobody able to tell has looked."""
        told = [a for a in self.answers if not a.stand_in]
        if bad := [a.asked for a in told if a.mark == "no"]:
            return Answer(TRUST, "no", "no", f"fails: {', '.join(bad)}")
        if open_ := [a.asked for a in self.answers if a.stand_in or a.mark == "unknown"]:
            return Answer(TRUST, "unknown", "not known", f"open: {', '.join(open_)}")
        if weak := [a.asked for a in told if a.mark == "partly"]:
            return Answer(TRUST, "partly", "with care", f"in part: {', '.join(weak)}")
        return Answer(TRUST, "yes", "yes", "on these cases")


@dataclass(frozen=True)
class Verdicts:
    questions: tuple[str, ...]
    models: tuple[Verdict, ...]
    #: What doing nothing and copying the answer get.
    scale: tuple[Verdict, ...]
    group: str
    #: Scores of a stand-in among the answers.
    stand_ins: tuple[str, ...]
    #: The answer in a sentence or two.
    summary: str = ""

    def table(self) -> Table:
        heads = [TRUST, *self.questions, f"Weakest {self.group}", "How sure"]
        models = [
            Row(v.entry.name, [*map(_cell, (v.trust, *v.answers)), Cell(v.weakest), Cell(v.sure)])
            for v in self.models
        ]
        scale = [
            Row(v.entry.name, [Cell(), *(Cell(a.numbers) for a in v.answers), Cell(), Cell()])
            for v in self.scale
        ]
        columns = [Column("Run", "left"), *(Column(head, "left") for head in heads)]
        return Table(columns, [Group(models), Group(scale)], "Can it be trusted?")


def _cell(answer: Answer) -> Cell:
    words = ", ".join(filter(None, [answer.words, answer.numbers]))
    words += " (stand-in)" if answer.stand_in else ""
    return Cell(f"{answer.sign} {words}", value=f"{answer.name}: {words}")


def make_verdicts(material: Material, statistics: Statistics, headline: str) -> Verdicts | None:
    """None where there is no model, or nothing that leads."""
    leads = [s for s in dimensions(material.scores, headline, material.task) if s.ranked]
    if not material.models or not leads:
        return None
    maker = _Maker(material, statistics, leads)
    models = tuple(maker.model(entry) for entry in material.models)
    return Verdicts(
        ("Delivers", *map(question, leads)),
        models,
        tuple(maker.control(entry) for entry in material.controls if _is_end(entry)),
        material.groups[0].words,
        tuple(question(score) for score in leads if score.stand_in),
        _summary(models, any(score.stand_in for score in leads)),
    )


def question(score: Score) -> str:
    """What a score answers."""
    asked = _QUESTIONS | _ANSWERS
    return asked.get(score.dimension) or _ANSWERS.get(score.name) or score.label


def _summary(models: Sequence[Verdict], stand_in: bool) -> str:
    """Who can be trusted, who not, and of whom it is not known."""
    names = {mark: [one.entry.name for one in models if one.trust.mark == mark] for mark in SIGNS}
    parts = [f"{listed(names['yes'])}: yes, on these cases"] if names["yes"] else []
    parts += [f"{listed(names['partly'])}: with care"] if names["partly"] else []
    parts += [f"{listed(names['no'])}: no"] if names["no"] else []
    if names["unknown"]:
        why = ", because only a stand-in has looked at the edits" if stand_in else ""
        parts.append(f"{listed(names['unknown'])}: not known{why}")
    none = "" if names["yes"] or names["partly"] else "None is shown to be trustworthy. "
    return f"{none if len(models) > 1 else ''}{'; '.join(parts)}."


def _is_end(entry: Entry) -> bool:
    return entry.run.info.editor in (NOTHING, "reference")


@dataclass(frozen=True)
class _Maker:
    material: Material
    statistics: Statistics
    leads: Sequence[Score]

    @cached_property
    def nothing(self) -> str:
        """The run that does nothing, if there is one."""
        found = [e.name for e in self.material.controls if e.run.info.editor == NOTHING]
        return next(iter(found), "")

    @cached_property
    def read(self) -> dict[str, AnswersRead]:
        return {one.score.name: one for one in answers_read(self.material)}

    def model(self, entry: Entry) -> Verdict:
        answers = (self.delivers(entry), *(self.answer(entry, score) for score in self.leads))
        return Verdict(entry, answers, self.weakest(entry), self.sure(entry))

    def control(self, entry: Entry) -> Verdict:
        told = [
            Answer(question(s), "unknown", "", _number(s, self.mean(entry, s).value))
            for s in self.leads
        ]
        return Verdict(entry, (Answer("Delivers", "unknown", ""), *told))

    def delivers(self, entry: Entry) -> Answer:
        given, asked = self.material.delivered.get(entry.name, (0, 0))
        share = given / asked if asked else 0.0
        mark: Mark = "yes" if given == asked else "partly" if share >= DELIVERED else "no"
        return Answer("Delivers", mark, percent(share), f"{given:,} of {asked:,}")

    def answer(self, entry: Entry, score: Score) -> Answer:
        asked, one = question(score), self.mean(entry, score)
        if one.value is None or not is_blind(entry, score):
            why = "the judge helped to make it" if one.value is not None else "no score"
            return Answer(asked, "unknown", why, stand_in=score.stand_in)
        found = self.statistics.overall[self.material.basis, entry.name, score.name]
        numbers = _number(score, one.value)
        numbers += f" ({between(one.interval, _decimals(score))})" if one.interval else ""
        mark, words = self.level(score, one)
        if score.dimension in _EDITS:
            mark, words = self.against_nothing(entry, score, mark, words)
        elif self.material.mixed or score.of == "text":
            mark, words = self.above_floors(entry, score, mark, words)
        elif lifted(self.statistics.overall, self.material.comparable, entry.name, score):
            # It left alone what it did not deliver, which is no merit.
            mark, words = min(mark, "partly", key=_ORDER.index), f"{words}, {found.charged} failed"
        return Answer(asked, mark, words, numbers, score.stand_in)

    def level(self, score: Score, one: Estimate) -> tuple[Mark, str]:
        """Where the mean and its interval lie on a scale from 0 to 1."""
        if one.value is None or one.low is None or one.high is None:
            return "unknown", "too few to tell"
        if score.high != 1:
            return "unknown", "no fixed scale"
        mean, low, high = one.value, one.low, one.high
        if score.better == "lower":
            mean, low, high = 1 - mean, 1 - high, 1 - low
        if mean >= GOOD and low > POOR:
            return "yes", "mostly" if mean < 0.95 else "nearly always"
        if mean < POOR and high < GOOD:
            return "no", "little"
        return "partly", "in part"

    def against_nothing(
        self, entry: Entry, score: Score, mark: Mark, words: str
    ) -> tuple[Mark, str]:
        """An edit must be better than none before anything else is said of it."""
        if not self.nothing:
            return mark, words
        basis, metric = self.material.basis, score.name
        pair = self.statistics.against(basis, metric, entry.name, self.nothing, CONTROLS)
        if pair is None or pair.difference is None:
            return mark, words
        if pair.interval is None:
            return "unknown", words
        ahead = pair.interval.low > 0 if pair.run_a == entry.name else pair.interval.high < 0
        if not (ahead if score.better == "higher" else not ahead):
            return "no", "no better than doing nothing"
        return ("partly", "little, but some") if mark == "no" else (mark, words)

    def above_floors(self, entry: Entry, score: Score, mark: Mark, words: str) -> tuple[Mark, str]:
        """It must be better than guessing, and than every control that does not know the answer."""
        pairs = {
            one.name: self.statistics.against(
                self.material.basis, score.name, entry.name, one.name, CONTROLS
            )
            for one in self.material.controls
            if one.run.info.editor != _CEILING
        }
        read = self.read.get(score.name)
        if read is not None and read.level is not None:
            pairs["guessing"] = read.against.get(entry.name)
        floors = {name: one for name, one in pairs.items() if one and one.difference is not None}
        unsure = ""
        for name, pair in floors.items():
            if pair.interval is None:
                unsure = unsure or f"too few to tell from {name}"
                continue
            low, high = pair.interval
            ahead = low if pair.run_a == entry.name else -high
            behind = high if pair.run_a == entry.name else -low
            ahead, behind = (ahead, behind) if score.better == "higher" else (-behind, -ahead)
            if ahead <= 0:
                told = "no better than" if behind < 0 else "not surely above"
                return "no" if behind < 0 or mark == "no" else "unknown", f"{told} {name}"
        if unsure:
            return "unknown", unsure
        better = "little, but above the controls"
        return ("partly", better) if mark == "no" and floors else (mark, words)

    def mean(self, entry: Entry, score: Score) -> Estimate:
        found = self.statistics.overall.get((self.material.basis, entry.name, score.name))
        return found.of(self.material.mean) if found else Estimate()

    def weakest(self, entry: Entry) -> str:
        """The group where the first leading score is worst."""
        score, places = self.leads[0], list[tuple[str, Summary]]()
        for lead in self.leads:
            score, places = lead, self.places(entry, lead)
            # Of several kinds of work, the first score that is about several groups.
            if len(places) > 1 or not self.material.mixed:
                break
        if len(places) < 2:
            return ""
        large = [one for one in places if one[1].n_cases >= FEW]
        large = large if len(large) > 1 else places

        def worth(one: tuple[str, Summary]) -> tuple[float, str]:
            value = one[1].micro.value or 0.0
            return (-value if score.better == "lower" else value), one[0]

        names, summary = min(large, key=worth)
        cases = counted(summary.n_cases, "case")
        worst = _number(score, summary.micro.value)
        return f"{names}: {question(score).lower()} {worst} over {cases}"

    def places(self, entry: Entry, score: Score) -> list[tuple[str, Summary]]:
        """The leading groups where there is such a score."""
        group = self.material.groups[0]
        return [
            (names, summary)
            for (basis, run, metric, names), summary in self.statistics.finer[group.name].items()
            if (basis, run, metric) == (self.material.basis, entry.name, score.name)
            and summary.micro.value is not None
        ]

    def sure(self, entry: Entry) -> str:
        return "; ".join(self._sure(entry))

    def _sure(self, entry: Entry) -> Iterator[str]:
        sources = self.sources(entry)
        yield f"{'only ' if sources < ENOUGH else ''}{counted(sources, 'source image')}"
        score = self.leads[0]
        one = self.mean(entry, score)
        if one.low is not None and one.high is not None:
            half = _number(score, (one.high - one.low) / 2)
            yield f"{question(score).lower()} ± {half}"
        pairs = self.statistics.compared(self.material.basis, MODELS, score.name)
        own = [pair for pair in pairs if entry.name in (pair.run_a, pair.run_b)]
        tied = sum(not pair.significant() for pair in own)
        if own and tied:
            whom = "the other" if len(own) == 1 else f"{tied} of {len(own)} others"
            yield f"not separable from {whom}"
        elif own:
            yield "told apart from all others"

    def sources(self, entry: Entry) -> int:
        rows = [entry.rows[self.material.places[key][1]] for key in entry.cases - entry.absent]
        return len({row.source for row in rows})


def _number(score: Score, value: float | None) -> str:
    return number(value, _decimals(score))


def _decimals(score: Score) -> int:
    """A verdict is not more exact than it is sure."""
    return min(2, score.decimals)
