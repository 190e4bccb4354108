"""A multimodal model as a judge: what it is asked, and how its answers become scores.

The answer is read; what cannot be read is sent back with the complaint; what then still cannot be
read is a reason. There is no default score.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from medebench.errors import one_line
from medebench.files import sha256
from medebench.judge.judge import Judgement, Verdict
from medebench.judge.parser import Parsed, Scored, complaint, parse
from medebench.judge.question_form import Filled, Slot
from medebench.judge.rubric import DEFAULT, OWN, USUAL, Rubric
from medebench.judge.rubric_files import load_rubric
from medebench.judge.shown import Shown, View
from medebench.judge.shown_order import by_role
from medebench.metrics.metric import MetricInfo
from medebench.models import Answer, Ask, Caller, Fault, Image, Provider, find_client
from medebench.models.answers.complaints import ask_until_complete
from medebench.models.prompt_text import delimited
from medebench.plaintext import clean
from medebench.reason import Reason
from medebench.settings import Settings

#: How often an answer that cannot be read is sent back.
COMPLAINTS = 2
#: Room for the list of differences and the reasons; answers usually take a third of it.
MAX_TOKENS = 1500
LIKELY_TOKENS = 400
_LONGEST_LABEL = 40
_NOT_ASKED = Reason("not-applicable", "not asked of an output of this kind")
_COMPUTED = {
    "overall": "mean of the scores that apply, computed from them; the judge's own is kept beside",
    "errors": "errors of all kinds together, computed from the counts",
}


class JudgeOptions(Settings):
    """What the user may set about a model as judge."""

    base_url: str | None = None
    rubric: str = DEFAULT
    image_size: int = Field(768, ge=64, le=4096)
    repeats: int = Field(1, ge=1, le=100)


@dataclass(frozen=True)
class _Opinion:
    """One reading of the model's mind: what could be read, and the answers it took."""

    parsed: Parsed
    answers: tuple[Answer, ...]


class ModelJudge:
    stand_in = False

    def __init__(
        self, client: Provider, options: JudgeOptions, rubric: Rubric | None = None
    ) -> None:
        self.client = client
        self.options = options
        self.rubric = rubric or load_rubric(options.rubric)
        #: The part of the judge that works where pictures are decoded.
        self.view = View(self.rubric, options.image_size)
        # Not a method of the judge: a view travels to where pictures are decoded, a key does not.
        self.show = self.view.show
        guided = ["description"] if self.rubric.guide == "description" else []
        roles = ("reference" if one == "reference_text" else one for one in self.rubric.roles)
        shown = [role for role in roles if role in ("reference", "roi", "description")]
        self.sees = tuple(dict.fromkeys([*shown, *guided]))
        self.looks_at = self.rubric.looks_at
        named = "" if self.rubric.name == DEFAULT else f"+{self.rubric.name}"
        self.name = f"{client.name}{named}"
        self.summary = f"{client.name} with rubric {self.rubric.label}"
        self.scores = tuple(f"{score}_{self.name}" for score in self.rubric.every_score)
        #: Scores of another variant do not count as done.
        self.variant = sha256(
            f"{sorted(client.identity().items())} {self.rubric.hash} "
            f"{options.image_size} {options.repeats}".encode()
        )[:16]

    def asks(self, shown: Shown) -> Iterator[Ask]:
        """The calls to expect for one output, for an estimate; second turns are not known yet."""
        for repeat in range(self.options.repeats):
            filled = self._fill(shown, repeat)
            for number in range(len(filled.turns)):
                yield self._ask(filled, number, shown, repeat, "")

    async def assess(self, shown: Shown, caller: Caller | None = None) -> Judgement:
        """The verdicts on one output; a `Fault` is for the caller to handle."""
        assert caller is not None
        fills = [self._fill(shown, repeat) for repeat in range(self.options.repeats)]
        tasks = [self._opinion(caller, one, shown, n) for n, one in enumerate(fills)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        opinions = [one for one in results if isinstance(one, _Opinion)]
        faults = [one for one in results if isinstance(one, BaseException)]
        if faults and not opinions:
            raise faults[0]
        paid = [answer for one in opinions for answer in one.answers if not answer.cached]
        asked = fills[0].scores
        verdicts = {
            f"{score}_{self.name}": self._verdict(score, asked, opinions, faults)
            for score in self.rubric.every_score
        }
        # To be looked up word by word; once, because all scores come from the same answers.
        told = verdicts[f"{asked[0]}_{self.name}"].detail
        told["asked"] = self._asked(fills[0], shown)
        told["answered"] = [clean(answer.text) for one in opinions for answer in one.answers]
        if orders := [list(one.labelled) for one in fills if one.labelled]:
            told["order"] = orders
        known = [answer.cost for answer in paid if answer.cost is not None]
        return Judgement(verdicts, sum(known), len(known) == len(paid))

    def _fill(self, shown: Shown, repeat: int) -> Filled:
        """Each repeat has an order of its own; outputs of one case have the same ones."""
        return self.rubric.fill(shown.case, shown.roles, f"{shown.case.id} {shown.seed} {repeat}")

    def facts(self) -> dict[str, Any]:
        """What stands beside every score in the ledger."""
        return {
            "judge": self.name,
            "stand_in": False,
            "variant": self.variant,
            "rubric": self.rubric.label,
            "rubric_hash": self.rubric.hash,
            "temperature": self.rubric.temperature,
        }

    async def _opinion(self, caller: Caller, filled: Filled, shown: Shown, repeat: int) -> _Opinion:
        answers: list[Answer] = []
        listed: Parsed | None = None
        for number in range(len(filled.turns)):
            last = number == len(filled.turns) - 1
            scores = filled.scores if last else ()
            earlier = answers[-1].text if answers else ""
            ask = self._ask(filled, number, shown, repeat, earlier)
            parsed, made = await self._read(caller, ask, scores)
            answers.extend(made)
            if not last:
                listed = parsed
            if parsed.refused:
                break
        if listed is not None and not parsed.differences:
            parsed = replace(parsed, differences=listed.differences)
        parsed = replace(parsed, asked=filled.scores)
        return _Opinion(_by_role(parsed, filled.labelled), tuple(answers))

    async def _read(
        self, caller: Caller, ask: Ask, scores: tuple[str, ...]
    ) -> tuple[Parsed, tuple[Answer, ...]]:
        """Ask, and complain until all can be read or patience ends."""
        vocabulary = self.rubric.vocabulary

        def read(answers: Sequence[Answer]) -> Parsed:
            """What earlier answers gave stands; the next need only give the rest."""
            found = Parsed(scores)
            for one in answers:
                new = parse(one.text, found.missing, vocabulary, finish=one.finish)
                own = self._own(one) if scores else {}
                found = Parsed(
                    scores,
                    own | found.scores | new.scores,
                    found.differences or new.differences,
                    new.problems,
                    new.refused and not found.scores,
                )
            return found

        asked = await ask_until_complete(
            caller,
            ask,
            read,
            complain=lambda parsed: complaint(parsed, vocabulary),
            written=self._as_json,
            tries=1 + COMPLAINTS,
        )
        parsed = asked.reading or Parsed(scores)
        if asked.fault is not None:
            if not parsed.scores:
                raise asked.fault
            # What was read so far was paid for.
            problem = f"not asked again: {asked.fault.text}"
            parsed = replace(parsed, problems=[*parsed.problems, problem])
        return parsed, asked.answers

    def _own(self, answer: Answer) -> dict[str, Scored]:
        """The judge's own opinion of the whole; nothing is missing where it gives none."""
        if not self.rubric.asks_own:
            return {}
        return parse(answer.text, [OWN], self.rubric.own_vocabulary, finish=answer.finish).scores

    def _asked(self, filled: Filled, shown: Shown) -> str:
        """The question as it was sent, with a word where an image stood."""
        parts = [filled.system]
        for number, turn in enumerate(filled.turns):
            parts += [f"[question {number + 1}]"] if number else []
            for part in turn.parts:
                sent = _sent(shown.roles[part.role]) if isinstance(part, Slot) else part
                parts.append(sent if isinstance(sent, str) else f"[image: {_named(part, sent)}]")
        return clean("\n\n".join(parts))

    def _ask(self, filled: Filled, number: int, shown: Shown, repeat: int, earlier: str) -> Ask:
        parts: list[str | Image] = []
        for index, turn in enumerate(filled.turns[: number + 1]):
            if index:
                parts.append(f"Your answer to that:\n{earlier}")
            for part in turn.parts:
                parts.append(_sent(shown.roles[part.role]) if isinstance(part, Slot) else part)
        return Ask(
            filled.system,
            tuple(parts),
            schema=filled.turns[number].schema,
            temperature=self.rubric.temperature,
            max_tokens=MAX_TOKENS,
            repeat=repeat,
            likely_tokens=LIKELY_TOKENS,
        )

    def _verdict(
        self,
        score: str,
        asked: tuple[str, ...],
        opinions: list[_Opinion],
        faults: list[BaseException],
    ) -> Verdict:
        """The mean of the repeats that could be read, on 0-1, with all there is to know of it."""
        computed = score == self.rubric.computed
        if not computed and score not in asked:
            return Verdict(None, _NOT_ASKED, self.facts())
        read = [
            one.parsed for one in opinions if _holds(one.parsed, asked if computed else [score])
        ]
        values = [self._value(one, asked if computed else (score,)) for one in read]
        first = opinions[0]
        detail: dict[str, Any] = self.facts() | {
            "model": first.answers[-1].model,
            "differences": [clean(one) for one in first.parsed.differences],
            "tokens_in": sum(a.tokens_in for one in opinions for a in one.answers),
            "tokens_out": sum(a.tokens_out for one in opinions for a in one.answers),
        }
        if score not in USUAL:
            # The report knows the usual ones by name.
            detail["metric"] = self._info(score).told()
        if without := first.answers[-1].without:
            detail["without"] = list(without)
        if computed:
            detail |= self._whole(asked, opinions)
        if not values:
            return Verdict(None, _why(opinions), detail)
        if not computed:
            detail["reason"] = clean(read[0].scores[score].reason)
        if self.options.repeats > 1:
            detail["repeats"] = self.options.repeats
            detail["values"] = values
            detail["sd"] = round(statistics.stdev(values), 4) if len(values) > 1 else None
            if failed := self.options.repeats - len(values):
                detail["unread"] = failed
                detail["unread_because"] = [_fault_text(one) for one in faults] or _why(opinions)
        return Verdict(statistics.fmean(values), None, detail)

    def _value(self, read: Parsed, scores: Sequence[str]) -> float:
        """One score of one opinion, or what is computed of several."""
        values = [self.rubric.share(read.scores[score].value) for score in scores]
        return math.fsum(values) if self.rubric.counts else statistics.fmean(values)

    def _whole(self, asked: tuple[str, ...], opinions: list[_Opinion]) -> dict[str, Any]:
        """Of what the whole was computed, and what the judge itself thinks of it, on 0-1."""
        said = [one.parsed.scores[OWN] for one in opinions if OWN in one.parsed.scores]
        own = [self.rubric.share(one.value) for one in said]
        told: dict[str, Any] = {"over": list(asked)}
        return told | ({"own": statistics.fmean(own)} if own else {})

    def _info(self, score: str) -> MetricInfo:
        name, rubric = f"{score}_{self.name}", self.rubric
        summary = _COMPUTED.get(score) if score == rubric.computed else None
        summary = summary or " ".join(rubric.criteria[score].split())
        # A criterion that begins with its name says how it is spelt.
        head, colon, _ = summary.partition(":")
        label = head if colon and len(head) <= _LONGEST_LABEL else ""
        if not rubric.counts:
            return MetricInfo(name, summary, "higher", 0.0, 1.0, label=label)
        most = rubric.limits[1] * (len(rubric.scores) if score == rubric.computed else 1)
        return MetricInfo(name, summary, "lower", 0.0, float(most), label=label, decimals=2)

    def _as_json(self, read: Parsed) -> str:
        own = self.rubric.own_vocabulary.labels if self.rubric.asks_own else {}
        labels = {**own, **self.rubric.vocabulary.labels}
        content: dict[str, Any] = {"differences": read.differences} if self.rubric.step1 else {}
        for name, one in read.scores.items():
            content[labels[name].key] = {"reason": one.reason, "score": one.value}
        return json.dumps(content, ensure_ascii=False)


def _holds(read: Parsed, scores: Sequence[str]) -> bool:
    return all(score in read.scores for score in scores)


def _by_role(read: Parsed, labelled: Mapping[str, str]) -> Parsed:
    """Reasons that name what they speak of: a reader of the report does not know the order."""
    scores = {
        name: replace(one, reason=by_role(one.reason, labelled))
        for name, one in read.scores.items()
    }
    return replace(read, scores=scores) if labelled else read


def _why(opinions: list[_Opinion]) -> Reason:
    parsed, tries = opinions[0].parsed, len(opinions[0].answers)
    if parsed.refused:
        return Reason("refused", "the judge refused to answer")
    problems = "; ".join(parsed.problems)
    words = f"the judge's answer could not be read in {tries} tries: {problems}"
    return Reason("unanswered", one_line(words))


def _sent(content: Image | str) -> Image | str:
    """Text of a case or an output stands between tags: it is material, not an order."""
    return delimited(content) if isinstance(content, str) else content


def _named(part: Slot | str, image: Image) -> str:
    width, height = image.size
    role = part.role if isinstance(part, Slot) else ""
    return f"{role}, {width} x {height}, sha256 {image.sha256[:12]}"


def _fault_text(error: BaseException) -> str:
    return error.text if isinstance(error, Fault) else f"{type(error).__name__}: {error}"


def model_judge(name: str, options: JudgeOptions) -> ModelJudge:
    """A provider's model as judge; what is missing is told before any work."""
    rubric = load_rubric(options.rubric)
    return ModelJudge(find_client(name, options.base_url), options, rubric)
