"""`refine:EDITOR`: a judge looks at each attempt; the instruction is rewritten until it will do.

Attempt 0 is the editor's own output, from its own seed; every further round says it in other words
and starts from another seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from medebench.clients import Ask, Plan, find_client
from medebench.clients.find import VENDORS
from medebench.clients.tally import add_plans
from medebench.editors.address import Address
from medebench.editors.base import Edit, Refused, Request, case_seed
from medebench.editors.wrapping.attempts import Attempt, best_of, in_ledger, stuck
from medebench.editors.wrapping.inner import Inner, check_own, lifted, unopened
from medebench.editors.wrapping.opinion import AskedJudge, PlainJudge
from medebench.editors.wrapping.rewriting import ByModel, ByRules
from medebench.editors.wrapping.talking import Talker
from medebench.errors import InputError, NotReadyError
from medebench.judge import ModelJudge, find_judge
from medebench.settings import Settings as AnySettings

EXAMPLE = "refine:judge=offline,rounds=2,phantom-editor:steps=8"


class RefineSettings(AnySettings):
    how: ClassVar[frozenset[str]] = frozenset({"max_cost"})

    editor: str = Field(repr=False, description="the editor inside, with its settings; comes last")
    judge: str = Field("offline", description="who looks at the attempts")
    rounds: int = Field(2, ge=0, le=20, description="most attempts after the first")
    enough: float = Field(0.8, ge=0, le=1, description="editing accuracy that ends the rounds")
    keep: Literal["best", "last"] = Field("best", description="the attempt that is the output")
    rewriter: str = Field(
        "", description="model that rewrites, or 'rules'; empty: the judge's model, else rules"
    )
    base_url: Address = Field(
        None,
        repr=False,
        description="address of the judge's model, and of a rewriter of the same vendor",
    )
    rubric: str | None = Field(None, description="of a model as judge")
    words: int = Field(60, ge=10, le=300, description="most words of a rewritten instruction")
    max_cost: float | None = Field(
        None, ge=0, description="most US dollars for judge and rewriter (each, if two models)"
    )


class Refine:
    summary: ClassVar[str] = "edits again in other words until a judge is content"
    Settings: ClassVar[type[AnySettings]] = RefineSettings
    control: ClassVar[bool] = False
    rest: ClassVar[str] = "editor"
    needs: ClassVar[str] = "what judge, rewriter and the editor inside need"
    example: ClassVar[str] = EXAMPLE
    #: What the judge looks at has a say in the next instruction.
    sees: tuple[str, ...] = ("reference", "roi")

    def __init__(self, settings: RefineSettings) -> None:
        self.settings = settings
        check_own("refine", settings.editor, RefineSettings.model_fields)
        self._inner = Inner(settings.editor)
        self._talkers: dict[tuple[str, str], Talker] = {}
        self._judge: AskedJudge | PlainJudge | None = None
        self._rewriter: ByModel | ByRules | None = None
        self._lacks: list[str] = []
        try:
            self._judge = self._find_judge()
            self._rewriter = self._find_rewriter(self._judge)
        except NotReadyError as lacking:
            self._lacks = [str(lacking)]
        sees = () if self._judge is None else self._judge.sees
        self.sees = tuple(dict.fromkeys([*sees, *self._inner.sees]))
        judges = [self._judge.name if self._judge else "", self._inner.judged_by]
        self.judged_by = ", ".join(dict.fromkeys(filter(None, judges)))
        self.demonstrations = self._inner.demonstrations
        self.at_once = self._inner.at_once(waits=bool(self._talkers))

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"editor": self._inner.written()}, self._inner.chosen.how

    def problems(self) -> list[str]:
        return self._lacks + self._inner.problems()

    def identity(self) -> str:
        judge, rewriter = self._ready
        return f"{judge.identity} {rewriter.identity} {self._inner.identity()}"

    def prepare(self) -> None:
        """A price that is not known shows here, before anything is paid."""
        for talker in self._talkers.values():
            _ = talker.caller
        self._inner.chosen.prepare()

    def share(self, other: object) -> bool:
        return isinstance(other, Refine) and self._inner.chosen.share(other._inner.chosen)

    def close(self) -> None:
        for talker in self._talkers.values():
            talker.close()
        self._inner.chosen.close()

    def edit(self, request: Request) -> Edit:
        _, rewriter = self._ready
        attempts: list[Attempt] = []
        words, told = request.instruction, None
        while True:
            attempts.append(self._attempt(request, len(attempts), words, told))
            if stopped := self._stopped(attempts):
                return self._chosen(request, attempts, stopped)
            words, told = rewriter.next_words(request, attempts)

    def estimate(self, requests: Iterable[Request]) -> Plan:
        """What calls it would take if every case used up all rounds."""
        judge, rewriter = self._ready
        seen = unopened(requests)
        plans: list[Plan] = []
        if isinstance(judge, AskedJudge):
            asks = self._likely(seen, judge.asks, self.settings.rounds + 1)
            plans.append(judge.talker.caller.plan(asks))
        if isinstance(rewriter, ByModel):
            asks = self._likely(seen, rewriter.asks, self.settings.rounds)
            plans.append(rewriter.talker.caller.plan(asks))
        inside = [_likely_round(one, n) for one in seen for n in range(self.settings.rounds + 1)]
        return add_plans([*plans, *self._inner.estimate(inside)])

    def _likely(self, requests: list[Request], asks: Any, times: int) -> Iterator[Ask]:
        """Calls of the right size; numbered, since each will be about another picture."""
        number = 0
        for one in unopened(requests):
            for ask in asks(one.case) * times:
                number += 1
                yield replace(ask, repeat=ask.repeat + 1_000_000 + number)

    def _attempt(
        self, request: Request, number: int, words: str, told: dict[str, Any] | None
    ) -> Attempt:
        judge, _ = self._ready
        seed = _seed(request.seed, number)
        asked = request if number == 0 else replace(request, seed=seed, said=words)
        try:
            made = self._inner.edit(asked)
        except Refused as refused:
            return Attempt(words, seed, told, reason=str(refused), detail=refused.detail)
        picture = request.case.fit(made.picture)
        return Attempt(words, seed, told, made, picture, judge.look(request.case, picture))

    def _stopped(self, attempts: list[Attempt]) -> str | None:
        """Why there is no further round, if so."""
        latest = attempts[-1]
        if latest.ea is not None and latest.ea >= self.settings.enough:
            return "good enough"
        if len(attempts) > self.settings.rounds:
            return "no rounds left"
        return "the same failure twice" if stuck(attempts) else None

    def _chosen(self, request: Request, attempts: list[Attempt], stopped: str) -> Edit:
        judge, rewriter = self._ready
        detail: dict[str, Any] = {"asked": request.instruction, "stopped": stopped}
        detail |= {"judge": judge.name, "rewriter": rewriter.label}
        detail |= in_ledger(attempts)
        number = best_of(attempts, self.settings.keep)
        if number is None:
            reason = attempts[-1].reason or "no picture"
            raise Refused(f"no attempt gave a picture; the last: {reason}", detail)
        made = attempts[number].made
        assert made is not None
        detail |= {"chosen": number, "instruction": attempts[number].instruction}
        if all(one.ea is None for one in attempts):
            why = next(one.why_unscored for one in attempts if one.made is not None)
            detail["unscored"] = f"no attempt was scored: {why}"
        pictures = tuple(one.made.picture for one in attempts if one.made is not None)
        return replace(made, detail=detail | lifted(made.detail), attempts=pictures)

    @property
    def _ready(self) -> tuple[AskedJudge | PlainJudge, ByModel | ByRules]:
        if self._judge is None or self._rewriter is None:
            raise NotReadyError(f"editor 'refine': {self._lacks[0]}")
        return self._judge, self._rewriter

    def _find_judge(self) -> AskedJudge | PlainJudge:
        name = self.settings.judge
        options = {"base_url": self.settings.base_url, "rubric": self.settings.rubric}
        given = {key: value for key, value in options.items() if value is not None}
        if _is_model(self.settings.rewriter) and not _is_model(name):
            # The address is the rewriter's then.
            given.pop("base_url", None)
        judge = find_judge(name, given)
        if not any(score.startswith(("ea_", "intended_")) for score in judge.scores):
            raise InputError(f"editor 'refine': judge '{name}' gives no editing accuracy (ea_...)")
        if isinstance(judge, ModelJudge):
            return AskedJudge(judge, self._talker(judge.client))
        return PlainJudge(judge, name)

    def _find_rewriter(self, judge: AskedJudge | PlainJudge) -> ByModel | ByRules:
        name, words = self.settings.rewriter, self.settings.words
        if name == "rules" or (not name and isinstance(judge, PlainJudge)):
            return ByRules()
        if not name:
            assert isinstance(judge, AskedJudge)
            return ByModel(judge.talker, words)
        beside = _is_model(self.settings.judge) and _vendor(name) != _vendor(self.settings.judge)
        try:
            client = find_client(name, None if beside else self.settings.base_url)
        except NotReadyError:
            raise
        except InputError as wrong:
            raise InputError(f"editor 'refine': rewriter: {wrong}, or rules") from None
        return ByModel(self._talker(client), words)

    def _talker(self, client: Any) -> Talker:
        key = (client.name, client.identity().get("url", ""))
        return self._talkers.setdefault(key, Talker(client, self.settings.max_cost))


def _seed(seed: int, number: int) -> int:
    """The first attempt is what the editor inside makes when it is alone."""
    return seed if number == 0 else case_seed(seed, "attempt", number)


def _likely_round(request: Request, number: int) -> Request:
    """For an estimate: each round will say it in words of its own, which nobody knows yet."""
    if number == 0:
        return request
    said = f"{request.instruction} ({number})"
    return replace(request, seed=_seed(request.seed, number), said=said)


def _vendor(name: str) -> str:
    return name.partition(":")[0]


def _is_model(name: str) -> bool:
    return _vendor(name) in VENDORS and ".py:" not in name
