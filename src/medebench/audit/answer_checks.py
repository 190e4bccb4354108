"""Findings about reference answers: none, one for everything, none of the choices, or several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from medebench.audit.audit_finding import Finding, Member, distinct, examples
from medebench.audit.audited_case import Seen
from medebench.audit.text_checks import words
from medebench.cases.case import Case
from medebench.cases.choice_options import find_option, read_options
from medebench.tasks.medgen_tasks import answer_kind, medgen_task

#: A template is the same answer of at least so many words to at least so many different inputs.
TEMPLATE_WORDS, TEMPLATE_CASES = 5, 5


def answer_findings(seen: Sequence[Seen], wants: Callable[[Case], bool]) -> Iterator[Finding]:
    """`wants` says whether a text is asked of a case."""
    asked = [one for one in seen if wants(one.case)]
    empty = [one.case.id for one in asked if not words(one.case.answer)]
    # Where no case of a set has one, texts are meant to be judged without a reference.
    expected = any(one.case.answer or medgen_task(one.case) for one in asked)
    if empty and expected:
        yield Finding("empty-answer", tuple(empty), f"{len(empty):,} of {len(asked):,} cases")
    yield from _templates([one for one in asked if answer_kind(one.case) in ("free", "report")])
    yield from _choices([one.case for one in asked])
    yield from _contradictions(seen)


def _templates(asked: Sequence[Seen]) -> Iterator[Finding]:
    by_text: dict[tuple[str, ...], list[Seen]] = defaultdict(list)
    for one in asked:
        # Counts and sizes are what a template is filled with.
        text = tuple(word for word in words(one.case.answer) if not word.isdigit())
        if len(text) >= TEMPLATE_WORDS:
            by_text[text].append(one)
    groups = [
        found
        for found in by_text.values()
        if len({inputs_of(one) for one in found}) >= TEMPLATE_CASES
    ]
    if groups:
        groups.sort(key=len, reverse=True)
        lines = (f"{len(found):,} cases: '{_brief(found[0].case.answer)}'" for found in groups)
        ids = distinct(one.case.id for found in groups for one in found)
        members = (tuple(Member(one.case.id, "answer") for one in found) for found in groups)
        yield Finding("templated-answer", ids, examples(lines), tuple(members))


def _choices(cases: Sequence[Case]) -> Iterator[Finding]:
    letter = [case for case in cases if answer_kind(case) == "letter"]
    if lacking := [case.id for case in letter if not case.choices]:
        yield Finding("no-choices", tuple(lacking), f"{len(lacking):,} of {len(letter):,} cases")
    wrong = [case for case in letter if case.choices and case.answer and not is_offered(case)]
    if wrong:
        lines = (
            f"case {case.id}: '{_brief(case.answer)}' of {len(case.choices)} choices"
            for case in wrong
        )
        yield Finding("answer-not-offered", tuple(case.id for case in wrong), examples(lines))


def is_offered(case: Case) -> bool:
    """Whether the answer is one of the choices, as `choice_accuracy` looks for it."""
    options = read_options(case.choices)
    return any(find_option(options, one) is not None for one in (case.answer, case.key) if one)


def _contradictions(seen: Sequence[Seen]) -> Iterator[Finding]:
    """The same inputs and the same instruction, but other targets: nobody can match them all."""
    asked: dict[Hashable, list[Seen]] = defaultdict(list)
    for one in seen:
        if (inputs := inputs_of(one)) and words(one.case.prompt):
            asked[one.case.task, inputs, tuple(words(one.case.prompt)), one.case.choices].append(
                one
            )
    groups = []
    for found in asked.values():
        targets = {target for one in found if (target := _target(one)) is not None}
        if len(targets) > 1:
            groups.append(found)
    if groups:
        lines = (
            " and ".join(one.case.id for one in found[:3]) + f": '{_brief(found[0].case.prompt)}'"
            for found in groups
        )
        ids = distinct(one.case.id for found in groups for one in found)
        members = (tuple(Member(one.case.id, "target") for one in found) for found in groups)
        number = f"{len(groups):,} group{'s' if len(groups) > 1 else ''}: "
        yield Finding("contradictory-targets", ids, number + examples(lines), tuple(members))


def inputs_of(one: Seen) -> tuple[bytes, ...]:
    """The pixels of all input images, by their content; nothing where one cannot be read."""
    facts = [one.sound(role) for role in one.case.inputs()]
    sound = tuple(fact.pixels for fact in facts if fact is not None)
    return sound if len(sound) == len(facts) else ()


def _target(one: Seen) -> Hashable:
    reference, text = one.sound("reference"), tuple(words(one.case.answer))
    return (reference.pixels if reference else b"", text) if reference or text else None


def _brief(text: str, limit: int = 48) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
