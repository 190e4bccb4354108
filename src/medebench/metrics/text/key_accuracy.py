"""Whether an open answer states the part of its reference that can be checked."""

from __future__ import annotations

from collections.abc import Mapping

from medebench.cases.case import Case
from medebench.cases.choice_options import find_option, read_options
from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.metrics.text.given_answer import answer_text, require_kind
from medebench.models.answers.key_statement import read_key
from medebench.outputs import Output
from medebench.reason import Reason


@metric(
    "key_accuracy",
    "the free answer states what can be checked of it",
    label="Key accuracy",
    of="output",
    definition=(
        "1 where the key of an open question is stated, not denied, and no other of the options "
        "that the question once had is stated beside it. By words alone: a synonym is not known."
    ),
)
def KEY_ACCURACY(case: OpenCase, output: Output | str) -> Measured:
    require_kind(case, "free", "key_accuracy")
    if not case.case.key:
        raise Undefined(Reason("not-applicable", "the case has no key to check"))
    text, cut = answer_text(output)
    key, others = key_and_others(case.case)
    status = read_key(text, key, others, case.case.prompt, cut=cut)
    return Measured(float(status == "stated"), {"status": status, "key": key})


def key_and_others(case: Case) -> tuple[str, list[str]]:
    """The words of the key, and of the options that it was once chosen from."""
    metadata = case.extra.get("metadata")
    source = metadata if isinstance(metadata, Mapping) else case.extra
    given = source.get("original_options", ())
    if isinstance(given, dict):
        given = [f"{letter}. {text}" for letter, text in given.items()]
    elif isinstance(given, str):
        given = given.splitlines()
    told = [one for one in given if isinstance(one, str)] if isinstance(given, list | tuple) else []
    options = read_options(told or case.choices)
    place = find_option(options, case.key)
    key = case.key if place is None else options[place].text
    return key, [one.text for i, one in enumerate(options) if i != place]
