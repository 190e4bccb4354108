"""`refine:EDITOR`: a judge looks at each attempt; the instruction is rewritten until it will do.

Attempt 0 is the editor's own output, from its own seed; every further round says it in other words
and starts from another seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from medebench.errors import InputError, NotReadyError
from medebench.judge import find_judge
from medebench.models import Ask, Plan, find_client
from medebench.models.model_lookup import names_model
from medebench.models.tally import add_plans
from medebench.outputs import Output
from medebench.settings import Settings as AnySettings
from medebench.settings import split_name
from medebench.systems.composed.drafts import Attempt, DraftJudge, best_of, in_ledger, stuck
from medebench.systems.composed.rewriter import ByModel, ByRules
from medebench.systems.composed.wrapper import WAITING, Wrapper, check_own, lifted, unopened
from medebench.systems.request import Refused, Request, case_seed
from medebench.systems.setting_types import Address

EXAMPLE = "refine:judge=offline,rounds=2,phantom-editor:steps=8"


class RefineSettings(AnySettings):
    runtime_only = frozenset({"max_cost"})

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


class Refine(Wrapper):
    summary = "edits again in other words until a judge is content"
    Settings = RefineSettings
    rest = "editor"
    needs = "what judge, rewriter and the editor inside need"
    example = EXAMPLE
    #: What the judge looks at has a say in the next instruction.
    sees: tuple[str, ...] = ("reference", "roi")

    settings: RefineSettings

    def __init__(self, settings: RefineSettings) -> None:
        check_own("refine", settings.editor, RefineSettings.model_fields)
        super().__init__(settings, settings.editor)
        self._judge: DraftJudge | None = None
        self._rewriter: ByModel | ByRules | None = None
        try:
            self._judge = self._find_judge()
            self._rewriter = self._find_rewriter(self._judge)
        except NotReadyError as lacking:
            self._lacks = [str(lacking)]
        if self._judge is not None:
            self.sees = tuple(dict.fromkeys([*self._judge.sees, *self.sees]))
            judges = filter(None, [self._judge.name, self.judged_by])
            self.judged_by = ", ".join(dict.fromkeys(judges))
        waits = WAITING if self._sessions else 0
        self.at_once = max(self._inner.at_once or 0, waits) or None

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"editor": self._written()}, self._instance.runtime_only

    def identity(self) -> str:
        judge, rewriter = self._ready
        return f"{judge.identity} {rewriter.identity} {self._inner_identity()}"

    def edit(self, request: Request) -> Output:
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
        if judge.session is not None:
            asks = self._likely(seen, judge.asks, self.settings.rounds + 1)
            plans.append(judge.session.caller.plan(asks))
        if isinstance(rewriter, ByModel):
            asks = self._likely(seen, rewriter.asks, self.settings.rounds)
            plans.append(rewriter.session.caller.plan(asks))
        inside = [_likely_round(one, n) for one in seen for n in range(self.settings.rounds + 1)]
        return add_plans([*plans, *self._estimate_inside(inside)])

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
            made = self._generate_inside(asked)
        except Refused as refused:
            return Attempt(words, seed, told, reason=str(refused), detail=refused.detail)
        assert made.image is not None
        picture = request.case.fit(made.image)
        return Attempt(words, seed, told, made, picture, judge.look(request.case, picture))

    def _stopped(self, attempts: list[Attempt]) -> str | None:
        """Why there is no further round, if so."""
        latest = attempts[-1]
        if latest.ea is not None and latest.ea >= self.settings.enough:
            return "good enough"
        if len(attempts) > self.settings.rounds:
            return "no rounds left"
        return "the same failure twice" if stuck(attempts) else None

    def _chosen(self, request: Request, attempts: list[Attempt], stopped: str) -> Output:
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
            why = next(one.opinion.reason for one in attempts if one.made is not None)
            detail["unscored"] = f"no attempt was scored: {why}"
        drafts = tuple(
            one.made.image for one in attempts if one.made and one.made.image is not None
        )
        return replace(made, detail=detail | lifted(made.detail), drafts=drafts)

    @property
    def _ready(self) -> tuple[DraftJudge, ByModel | ByRules]:
        self._require_ready()
        assert self._judge is not None and self._rewriter is not None
        return self._judge, self._rewriter

    def _find_judge(self) -> DraftJudge:
        name = self.settings.judge
        options = {"base_url": self.settings.base_url, "rubric": self.settings.rubric}
        given = {key: value for key, value in options.items() if value is not None}
        if names_model(self.settings.rewriter) and not names_model(name):
            # The address is the rewriter's then.
            given.pop("base_url", None)
        judge = find_judge(name, given)
        if not any(score.startswith(("ea_", "intended_")) for score in judge.scores):
            raise InputError(f"editor 'refine': judge '{name}' gives no editing accuracy (ea_...)")
        session = None if judge.client is None else self._session(judge.client)
        return DraftJudge(judge, name, session)

    def _find_rewriter(self, judge: DraftJudge) -> ByModel | ByRules:
        name, words = self.settings.rewriter, self.settings.words
        if not name and judge.session is not None:
            return ByModel(judge.session, words)
        if not name or name == "rules":
            return ByRules()
        judge_name = self.settings.judge
        beside = names_model(judge_name) and split_name(name)[0] != split_name(judge_name)[0]
        try:
            client = find_client(name, None if beside else self.settings.base_url)
        except NotReadyError:
            raise
        except InputError as wrong:
            raise InputError(f"editor 'refine': rewriter: {wrong}, or rules") from None
        return ByModel(self._session(client), words)


def _seed(seed: int, number: int) -> int:
    """The first attempt is what the editor inside makes when it is alone."""
    return seed if number == 0 else case_seed(seed, "attempt", number)


def _likely_round(request: Request, number: int) -> Request:
    """For an estimate: each round will say it in words of its own, which nobody knows yet."""
    if number == 0:
        return request
    said = f"{request.instruction} ({number})"
    return replace(request, seed=_seed(request.seed, number), said=said)
