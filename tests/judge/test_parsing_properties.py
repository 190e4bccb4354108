"""Whatever the scores, the form and the prose around them: read back exactly, or not at all."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from medebench.models.answers.lenient_json import Number, Pairs, find_objects
from tests.judge.answers import parse
from tests.judge.test_parsing_corpus import FILES, read

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

score = st.one_of(
    st.integers(0, 10).map(float),
    st.integers(0, 20).map(lambda half: half / 2),
    st.integers(0, 1000).map(lambda cent: cent / 100),
)
#: Words that a judge may write around scores; none names a score or declines to judge.
PROSE = (
    "the mole tooth 2 teeth polyp 512 512x512 is gone left cheek in 2021 slightly softer 14 of 32"
)
PROSE += " 7 mm Step image radiograph (see above) natural; texture, bone. colour 3 remains"
words = st.lists(st.sampled_from(PROSE.split()), max_size=12).map(" ".join)


def g(value):
    return f"{value:g}"


def as_json(a, v, reason):
    one = {"score": a, "reason": reason}, {"reason": reason, "score": v}
    return json.dumps(
        {"differences": [reason], "editing_accuracy": one[0], "visual_quality": one[1]}
    )


#: A form as text: $A and $V are the scores, $R is prose.
FORMS = [
    "**Editing Accuracy:** $A/10, $R\n**Visual Quality:** $V/10, $R",
    "- Visual Quality: $V out of 10\n- Editing Accuracy: $A out of 10",
    "### Editing Accuracy\nScore: $A\n$R\n\n### Visual Quality\nScore: $V\n$R",
    "| Metric | Score | Why |\n|---|---|---|\n"
    "| Editing Accuracy | $A | $R x |\n| Visual Quality | $V | |",
    "| EA | VQ |\n|---|---|\n| $A | $V |",
    "EA: $A, VQ: $V",
    "1. Editing accuracy ($A/10): $R\n2. Visual quality ($V/10): $R",
    "editing_accuracy:\n  score: $A\nvisual_quality:\n  score: $V",
    "编辑准确性：$A/10\n视觉质量：$V/10",
    "I give $A/10 for editing accuracy and $V/10 for visual quality.",
    '{"editing_accuracy": {"score": $A,}, // $R\n "visual_quality": $V,}',
    "{'editing_accuracy': {'score': $A, 'reason': '$R'}, 'visual_quality': {'score': $V}}",
    '{"scores": {"Editing Accuracy": "$A/10", "VQ": "$V"}}',
]


def filled(form):
    def write(a, v, reason):
        return form.replace("$A", g(a)).replace("$V", g(v)).replace("$R", reason)

    return write


def with_commas(a, v, reason):
    return f"Editing Accuracy: {g(a).replace('.', ',')}/10\nVisual Quality: {g(v)}"


def out_of_hundred(a, v, reason):
    return f"Editing Accuracy: {g(a * 10)}%\nVisual Quality: {g(v * 10)}/100"


def with_thoughts(a, v, reason):
    return (
        f"<think>EA: {g(v)}, VQ: {g(a)}</think>\nEditing Accuracy: {g(a)}\nVisual Quality: {g(v)}"
    )


TEMPLATES = [
    as_json,
    lambda a, v, r: "```json\n" + as_json(a, v, r) + "\n```",
    lambda a, v, r: json.dumps({"editing_accuracy": a, "visual_quality": v}, indent=2),
    *map(filled, FORMS),
    with_commas,
    out_of_hundred,
    with_thoughts,
]


@QUICK
@given(a=score, v=score, form=st.sampled_from(TEMPLATES), reason=words, before=words, after=words)
def test_any_scores_in_any_form_are_read_back(a, v, form, reason, before, after):
    text = f"{before}\n\n{form(a, v, reason)}\n\n{after}"
    parsed = parse(text, ["ea", "vq"])
    assert {name: one.value for name, one in parsed.scores.items()} == {"ea": a, "vq": v}
    assert not parsed.problems and not parsed.refused


LINES = ["**{}:** {}/10, because", "- {} = {}", "{}: {} out of 10. Fine."]


@QUICK
@given(
    a=score, v=score, line=st.sampled_from(LINES), gone=st.sampled_from(["ea", "vq"]), around=words
)
def test_a_deleted_line_is_missed_and_nothing_else(a, v, line, gone, around):
    given_lines = {
        "ea": line.format("Editing Accuracy", g(a)),
        "vq": line.format("Visual Quality", g(v)),
    }
    kept = [text for name, text in given_lines.items() if name != gone]
    parsed = parse("\n".join([around, *kept]), ["ea", "vq"])
    assert parsed.missing == (gone,) and len(parsed.problems) == 1
    other = "vq" if gone == "ea" else "ea"
    assert parsed.scores[other].value == {"ea": a, "vq": v}[other]


@QUICK
@given(a=score, b=score, form=st.sampled_from(TEMPLATES), other=st.sampled_from(TEMPLATES))
def test_two_answers_agree_or_are_a_problem(a, b, form, other):
    parsed = parse(form(a, 5.0, "x") + "\n\n" + other(b, 5.0, "x"), ["ea", "vq"])
    if form is TEMPLATES[-1] or other is TEMPLATES[-1]:
        return  # a closing thought hides the first answer
    assert ("ea" in parsed.scores) == (a == b)
    if a == b:
        assert parsed.scores["ea"].value == a


@QUICK
@given(text=st.text(alphabet=string.printable + "“”–—：７٧½\u200b\u0000{}[]:/|", max_size=400))
def test_text_without_names_gives_no_score(text):
    named = any(
        word in text.lower() for word in ("accuracy", "quality", "context", "ea", "vq", "cp")
    )
    parsed = parse(text, ["ea", "vq", "context"])
    if not named:
        assert parsed.scores == {} and parsed.problems


TEXTS = [read(path)[1] for path in FILES]
PIECES = [
    "{",
    "}",
    '"',
    ":",
    ",",
    "7",
    "/10",
    "-",
    "\n",
    "|",
    "**",
    "<think>",
    "</think>",
    "EA",
    "\\",
]
PIECES += [
    "Visual Quality",
    "editing_accuracy",
    "score",
    "0-1 scale",
    "\u200b",
    "\x00",
    "NaN",
    "1e999",
]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), finish=st.sampled_from(["stop", "length", "content_filter", ""]))
def test_damaged_answers_never_raise_and_never_leave_the_scale(data, finish):
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        text = text[:at] + data.draw(st.sampled_from([*PIECES, ""])) + text[at + length :]
    parsed = parse(text, ["ea", "vq", "context"], finish=finish)
    assert all(0 <= one.value <= 10 for one in parsed.scores.values())
    assert bool(parsed.missing) == bool(parsed.problems)


#: An answer that corrects itself further on would be cut before the correction.
STEADY = [text for text in TEXTS if "inal" not in text]


@pytest.mark.parametrize("offset", range(5))
def test_a_cut_answer_loses_scores_but_never_changes_one(offset):
    for text in STEADY:
        whole = parse(text, ["ea", "vq"])
        for end in range(offset, len(text), 25):
            cut = parse(text[:end], ["ea", "vq"], finish="length")
            for name in set(cut.scores) & set(whole.scores):
                assert cut.scores[name].value == whole.scores[name].value, text[:end]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def _back(value):
    if isinstance(value, Pairs):
        return {key: _back(inner) for key, inner in value.items}
    if isinstance(value, list):
        return [_back(inner) for inner in value]
    return json.loads(value) if isinstance(value, Number) else value


@QUICK
@given(
    value=st.dictionaries(
        st.text(string.ascii_letters, min_size=1, max_size=6), json_values, min_size=1
    )
)
@example(value={"a": {"b": [1, {"c": "}"}]}})
def test_strict_json_is_read_as_the_standard_library_reads_it(value):
    found = find_objects("before " + json.dumps(value) + " after")
    assert [_back(one.value) for one in found] == [value]


@pytest.mark.parametrize("form", TEMPLATES)
def test_every_form_is_read_once_for_sure(form):
    parsed = parse(form(7.5, 8.0, "the mole is gone"), ["ea", "vq"])
    assert {name: one.value for name, one in parsed.scores.items()} == {"ea": 7.5, "vq": 8.0}
