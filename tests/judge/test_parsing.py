"""Single rules of the parser: what is a score, what is not, and what is said about it."""

from __future__ import annotations

import time

import pytest

from tests.judge.answers import complaint, parse


def ea(text, **options):
    parsed = parse(text, ["ea"], **options)
    return parsed.scores["ea"].value if "ea" in parsed.scores else None


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("7", 7),
        ("7.", 7),
        ("7.5", 7.5),
        ("7,5", 7.5),
        ("07", 7),
        ("+7", 7),
        ("7/10", 7),
        ("7 / 10", 7),
        ("7.0/10.0", 7),
        ("7 out of 10", 7),
        ("7 out of a possible 10", 7),
        ("7 von 10", 7),
        ("**7**/10", 7),
        ("`7`", 7),
        ("(7)", 7),
        ("[7/10]", 7),
        ('"7"', 7),
        ("70%", 7),
        ("70 percent", 7),
        ("70/100", 7),
        ("0.7/1", 7),
        ("0.7", 0.7),
        ("0.7 of 1", 7),
        ("0", 0),
        ("-0", 0),
        ("10", 10),
        ("10/10", 10),
        ("zero", 0),
        ("ten out of ten", 10),
        ("~7", 7),
        ("approx. 7", 7),
        ("7 (good)", 7),
        ("7 because the mole is gone", 7),
        ("7 - two moles are gone", 7),
        ("7/10 - 2 of 3 moles are gone", 7),
        ("7分", 7),
        ("𝟕/𝟏𝟎", 7),
        ("７／１０", 7),
    ],
)
def test_forms_of_a_score(said, value):
    assert ea(f"Editing Accuracy: {said}") == value
    assert ea(f"- **Editing Accuracy**: {said}\n- other: 3") == value


@pytest.mark.parametrize(
    "said",
    [
        "6-7", "6–7", "6 to 7", "6 or 7", "between 6 and 7", "7±1", "7/10-8/10", "6...7", "10 -> 7",
        "7+", "7/10+", ">7", "≥ 7", "at least 7", "up to 8", "<5", "less than 5",
        "-1", "-3/10", "11", "10.5", "75", "101%", "110/100", "1.2/1", "NaN", "inf", "Infinity",
        "4/5", "3 out of 5", "6/7", "2 of 4 teeth", "7/0", "7/10000",
        "N/A", "n/a", "none", "unknown", "cannot be determined", "not applicable", "unable to say",
        "good", "seven and a half", "7 ½", "7½", "7 1/2", "seven point five", "seventy", "once",
        "7mm", "7 mm", "7th", "7:30", "7.5.1", "7-month-old", "3 moles", "2 points lower", "7e0x",
        "2024", "512x512", "1,000", "7 8", "7 and 8", "IV", "?", "X/10", "__/10",
        "0 = nothing changed, 10 = perfect", "10 means perfect", "<0-10>", "⑦", "7²", "",
    ],
)  # fmt: skip
def test_what_is_no_score(said):
    assert ea(f"Editing Accuracy: {said}") is None
    assert parse(f"Editing Accuracy: {said}\n", ["ea"]).problems


@pytest.mark.parametrize(
    "text",
    [
        "Editing accuracy would be 9 if the second mole were gone.",
        "A perfect editing accuracy needs all 4 teeth.",
        "Compared with the editing accuracy of other tools in 2023, this is fair.",
        "The edit has 3 flaws for editing accuracy.",
        "I took off 4 for editing accuracy.",
        "Editing accuracy dropped by 3 points.",
        "Editing accuracy is 2 points below the reference.",
        "Editing Accuracy Reason: 7 moles are left.",
        "Step 2: Editing Accuracy",
        "IMAGE 2: editing accuracy\n512",
        "Editing accuracy\n3 moles are left",
        "Editing Accuracy: see below.\n\nOverall: 8/10",
        "Editing Accuracy:\nVisual Quality: 8/10",
        "EA is a publisher; EA 2 is a game of theirs",
        "idea: 7, area: 8, tea: 9, SEA: 3",
        '{"accuracy_of_model": 7, "editing": 8, "score": 9, "scores": [7, 8]}',
        '{"editing_accuracy": {"confidence": 7, "reason": "8 moles"}}',
        '{"editing_accuracy": "all 7 moles are gone"}',
        '{"editing_accuracy": {"score": {"value": [1, 2]}}}',
        "Editing Accuracy: was 8, now 6",
        "Editing Accuracy: 7/10 (reduced to 5/10 for the halo)",
        "Editing Accuracy: initially 8/10, lowered to 6/10",
        "Editing Accuracy: 9 if the scar is ignored, else 5",
        "Editing Accuracy: 7 for shape, 5 for colour",
        "Editing Accuracy: IMAGE 3 scores 10/10.",
        "Editing Accuracy: reference: 10/10",
        "Editing Accuracy\n\n10/10 would mean a perfect result.",
        "Editing Accuracy\n10: perfect\n5: half\n0: none",
        "Editing Accuracy: 7/10/2024",
        "Editing Accuracy: 7/10 moles removed",
        "Editing Accuracy: 1. The mole is gone. 2. The rest is the same.",
        "Editing Accuracy: 7; 8",
        "For example, Editing Accuracy: 5/10 would mean half.",
        'Example: {"editing_accuracy": {"score": 5}}',
        '{"editing_accuracy": "7/10 moles are gone"}',
        '{"editing_accuracy": ["7", "8"]}',
        '{"editing_accuracy": {"score": 3, "scale": "1-5"}}',
        '{"editing_accuracy": {"score": 7, "rating": 6}}',
        "<think>Editing accuracy: 7</think>",
        "<thinking>\nEditing accuracy: 7\n",
    ],
)
def test_numbers_that_are_not_the_score(text):
    assert ea(text) is None


def test_scale_of_one_or_hundred_must_be_said():
    assert ea("Editing Accuracy (0-1): 0.7") == 7
    assert ea("Editing Accuracy (out of 100): 7") == 0.7
    assert ea("Scores on a 0-100 scale. Editing Accuracy: 70") == 7
    assert ea("Scores on a 0-100 scale. Editing Accuracy: 7") is None
    assert ea("Scores on a 0-1 scale. Editing Accuracy: 7") is None
    assert ea("On a scale of 0 to 10, not 0-1 scale. Editing Accuracy: 0.7") == 0.7
    assert ea("Editing Accuracy (1-5): 4") is None


def test_final_answer_replaces_only_when_it_says_so():
    two = '{"editing_accuracy": 7}\n\n%s\n{"editing_accuracy": 4}'
    assert ea(two % "Final answer:") == 4
    assert ea(two % "## Revised scores") == 4
    assert ea(two % "Hmm, the final tooth is left.") is None
    assert ea(two % "") is None


def test_generic_names_give_way_to_full_ones():
    assert ea("Accuracy: 3\nEditing accuracy: 7") == 7
    assert ea('{"accuracy": 3, "editing_accuracy": 7}') == 7
    assert ea("Accuracy: 3") == 3


def test_cut_off_numbers_do_not_count():
    assert ea('{"editing_accuracy": {"score": 1', finish="length") is None
    assert ea('{"editing_accuracy": {"score": 1') is None
    assert ea('{"editing_accuracy": {"score": 7, "reason": "the mo', finish="length") == 7
    assert ea("Editing accuracy: 7/1", finish="MAX_TOKENS") is None
    assert ea("Editing accuracy: 7/10, because the mole is", finish="length") == 7


def test_a_refusal_is_told_from_a_gap():
    assert parse("I can't help with rating medical photographs.", ["ea"]).refused
    assert not parse("The mole is gone. Nice.", ["ea"]).refused
    assert not parse("I'm sorry for the delay. Editing accuracy: 7", ["ea"]).refused
    assert parse("", ["ea"], finish="SAFETY").refused


def test_differences_alone():
    assert parse('{"differences": ["a mole less"]}', []).differences == ["a mole less"]
    assert parse('{"differences": []}', []).complete
    missing = parse("They look alike to me.", [])
    assert not missing.complete and '"differences"' in complaint(missing)


def test_complaint_asks_for_exactly_what_is_missing():
    parsed = parse("Editing Accuracy: 7/10\nVisual Quality: 6-7", ["ea", "vq"])
    message = complaint(parsed)
    assert "range (6-7)" in message and '"visual_quality"' in message
    assert "editing" not in message
    # The form in the complaint, sent back as it is, is no answer.
    assert parse(message, ["ea", "vq"]).scores == {}


def test_unknown_scores_are_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="no such score"):
        parse("", ["accuracy"])


JUNK = [
    "{",
    '{"a":',
    "[",
    '"',
    "EA ",
    "EA\n",
    "EA: 7 ",
    "Editing Accuracy:\nx 7/10\n",
    "|",
    "| a |\n",
]
JUNK += [
    "7",
    " ",
    "*",
    "<a",
    "<think>",
    "_",
    '{"a" 7} ',
    "/* ",
    "final answer:\n",
    "EA (",
    "\\",
    "! ",
]
JUNK += [
    '{"a": "x" y ',
    "give 7 for EA ",
    "scale 0 - ",
    "I cannot ",
    "differences ",
    "\\boxed{",
    "-",
]


def effort(text):
    """The least processor time of a few tries, which other people's load hardly changes."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        parse(text, ["ea", "vq", "context"])
        tries.append(time.process_time() - start)
    return min(tries)


@pytest.mark.parametrize("unit", JUNK)
def test_junk_takes_linear_time(unit):
    """Four times the text may take four times as long; anything quadratic takes sixteen."""
    count = 25_000 // len(unit)
    assert effort(unit * (4 * count)) < 10 * max(effort(unit * count), 0.05)
