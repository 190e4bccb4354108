"""Properties of the readers of answers: no letter out of words, the same in every dress."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medebench.cases.choice_options import find_option, read_options
from medebench.metrics.text.harmless_differences import normal_form, same_filling
from medebench.models.answers.answer_body import LONGEST, answer_body
from medebench.models.answers.choice_answer import read_choice
from medebench.models.answers.gap_answer import read_gap
from medebench.models.answers.key_statement import read_key

settings.register_profile("answers", deadline=None, max_examples=60)
settings.load_profile("answers")

CHOICES = ("A. Pleural effusion", "B. Pneumothorax", "C. Pneumonia", "D. Normal chest")
TEXTS = [one[3:] for one in CHOICES]
EIGHT = tuple(
    f"{letter}. {text}"
    for letter, text in zip(
        "ABCDEFGH",
        ["Aorta", "Bladder", "Colon", "Duodenum", "Ear", "Femur", "Gum", "Heart"],
        strict=True,
    )
)
STATUSES = {"read", "not_read", "refused", "conflict", "several", "out_of_range", "cut"}

#: Ways to write down one letter, and its text, as an answer.
DRESSES = (
    "{}", "({})", "{}.", "{})", "[{}]", "**{}**", "`{}`", "Option {}", "Answer: {}",
    "**Answer:** {}",
    "The answer is {}.", "The correct answer is ({}).", "Final answer: {}", "I would choose {}.",
    "{} is correct.", "\\boxed{{{}}}", '{{"answer": "{}"}}', "<answer>{}</answer>",
    "Die Antwort ist {}.",
    "La respuesta es {}", "答案是{}", "<think>A or B?</think>{}", "Not sure, but the answer is {}.",
    "There is no doubt about the angle.\n\n{}", "The lung edge is seen. So the answer is {}.",
)  # fmt: skip
WRAPS = (
    "{}",
    " {} ",
    "\n\n{}\n",
    "**{}**",
    "_{}_",
    "`{}`",
    "> {}",
    "\t{}\r\n",
    "<p>{}</p>",
    "$${}$$",
)


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("place", range(4))
def test_a_letter_in_every_dress(dress, place):
    letter = "ABCD"[place]
    assert read_choice(dress.format(letter), CHOICES).index == place
    assert read_choice(dress.format(f"{letter}. {TEXTS[place]}"), CHOICES).index == place
    wrong = f"{letter}. {TEXTS[(place + 1) % 4]}"
    assert read_choice(dress.format(wrong), CHOICES).status == "conflict"
    assert read_choice(dress.format("G"), CHOICES).status == "out_of_range"


@given(
    st.sampled_from(DRESSES), st.sampled_from("ABCD"), st.lists(st.sampled_from(WRAPS), max_size=3)
)
def test_blanks_case_and_markdown_change_nothing(dress, letter, wraps):
    plain = read_choice(dress.format(letter), CHOICES)
    text = dress.format(letter)
    for wrap in wraps:
        text = wrap.format(text)
    found = read_choice(text, CHOICES)
    assert (found.status, found.index) == (plain.status, plain.index)
    upper = read_choice(text.upper() if "\\boxed" not in text else text, CHOICES)
    assert (upper.status, upper.index) == (plain.status, plain.index)


@given(st.sampled_from(DRESSES), st.permutations("ABCD"))
def test_two_letters_are_no_answer(dress, letters):
    one, other, *_ = letters
    for text in (f"{one} and {other}", f"{one} or {other}", f"{one}, {other}"):
        assert read_choice(dress.format(text), CHOICES).index is None
    twice = dress.format(one) + "\n" + dress.format(other)
    assert read_choice(twice, CHOICES).index in (None, "ABCD".index(other))


# Words of reports that hold or touch a letter; none of them names an option.
WORDS = [
    "A",
    "a",
    "I",
    "X-ray",
    "T2",
    "T1",
    "B-lines",
    "B-mode",
    "C-section",
    "C-arm",
    "D-dimer",
    "A-fib",
    "CT",
    "MRI",
    "vitamin",
    "hepatitis",
    "group",
    "fracture",
    "is",
    "seen",
    "in",
    "the",
    "left",
    "lung",
    "with",
    "no",
    "shift",
    "of",
    "mediastinum",
    "patient",
    "shows",
    "lesion",
    "think",
    "an",
    "grade",
    "type",
    "Kerley",
    "lines",
    "Child-Pugh",
    "C4-C5",
    "L5",
    "E.coli",
    "plan",
    "stage",
    "level",
    "zone",
    "view",
    "scan",
    "image",
    "of",
    "on",
    "and",
    "or",
    "may",
    "be",
    "large",
    "small",
    "right",
    "upper",
    "lobe",
    "opacity",
    "mass",
    ".",
    ",",
    ";",
    ":",
]


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=14))
def test_no_letter_is_read_out_of_words(words):
    text = " ".join(words).replace(" .", ".").replace(" ,", ",")
    # Letters that stand for themselves are another matter.
    text = text.replace("A.", "fracture.").replace("A,", "fracture,").replace("A:", "fracture:")
    bare = text.strip(" .,;:")
    assume(bare and len(bare) > 1 and bare.split()[0].strip(".,;:") not in ("A", "a", "I"))
    assume(bare.split()[-1].strip(".,;:") not in ("A", "a"))
    assert read_choice(text, EIGHT).index is None


@pytest.mark.parametrize("letter", string.ascii_uppercase[:8])
@pytest.mark.parametrize(
    "words", ["{}-ray of the hand", "{} fracture of the wrist", "{}-type lesion",
    "vitamin {} is low",
              "group {} streptococcus", "{}1 segment", "segment {}2 of the lung", "{}'s sign",
              "the {}-line is displaced", "hepatitis {} virus was found", "grade {} oedema"],
)  # fmt: skip
def test_names_with_letters_are_names(letter, words):
    assert read_choice(words.format(letter), EIGHT).index is None
    assert read_choice(f"The image shows a {words.format(letter)}.", EIGHT).index is None


@given(st.text(max_size=400), st.integers(0, 8))
def test_any_text_is_read_somehow(text, count):
    found = read_choice(text, EIGHT[:count])
    assert found.status in STATUSES
    assert (found.index is not None) == (found.status == "read")
    if found.span:
        start, end = found.span
        assert 0 <= start < end <= len(text)
    assert read_gap(text, "It is ____ here.").status in STATUSES
    assert read_key(text, "left", ["right"]) in {
        "stated",
        "not_stated",
        "several",
        "refused",
        "cut",
    }
    assert read_choice(text, CHOICES, cut=True).status == "cut"


PIECES = (
    "A", "B.", "(C)", "answer", "The answer is", "Option", "not", "<think>", "</think>",
    "\\boxed{", "}",
    "{", '"answer":', "**", "\n", " ", "or", "Pneumonia", "pneumothorax", "is correct",
    "is wrong", ",",
    "final", "if", "?", "```json", "</answer>", "<answer>", "答案", "\u200b", "\x00", "Ｂ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25))
@settings(max_examples=200)
def test_pieces_of_answers_in_any_order(pieces):
    text = " ".join(pieces)
    found = read_choice(text, CHOICES)
    assert found == read_choice(text, CHOICES)
    if found.index is not None:
        said = (
            answer_body(text).text.casefold() + " ".join(answer_body(text).marked or ()).casefold()
        )
        assert found.letter.casefold() in said or TEXTS[found.index].casefold() in said


@pytest.mark.parametrize(
    "text",
    ["A ", "answer ", "(", " ", "\n", "<think>", "</think>", "pneumothorax ", "A, ", "{", "not ",
     "*", "\\boxed{", '"a": ', "A. x\n", "The answer is ", "or ", '{"answer": ', "\u200b", "____ "],
)  # fmt: skip
def test_long_answers_are_cut_in_the_middle_and_read(text):
    """Ten times as long is not a hundred times the work: nothing here may be quadratic."""
    long = text * (3 * LONGEST // len(text))
    assert len(answer_body(long).text) <= LONGEST + 1
    assert read_choice(long[:LONGEST], CHOICES).status in STATUSES
    assert read_gap(long[:LONGEST], "It is ____.").status in STATUSES
    read_key(long[:LONGEST], "left", ["right"])


def test_the_longest_match_counts():
    nested = ("A. Lung", "B. Left lung", "C. Upper lobe of the left lung")
    assert read_choice("Upper lobe of the left lung", nested).letter == "C"
    assert read_choice("It is the left lung.", nested).letter == "B"
    assert read_choice("A. Left lung", nested).status == "conflict"


def test_choices_with_and_without_letters():
    assert [one.letter for one in read_options(["(a) x", "(b) y"])] == ["A", "B"]
    assert [one.text for one in read_options(["A: x", "B: y"])] == ["x", "y"]
    assert [one.text for one in read_options(["Vitamin A", "Vitamin B"])] == [
        "Vitamin A",
        "Vitamin B",
    ]
    # Letters that are not in order are no letters of choices.
    assert [one.text for one in read_options(["B. x", "A. y"])] == ["B. x", "A. y"]
    options = read_options(CHOICES)
    for told in ("B", "b.", "(B)", "Pneumothorax", "B. Pneumothorax", "B) pneumothorax"):
        assert find_option(options, told) == 1
    assert find_option(options, "B. Pneumonia") is None and find_option(options, "") is None


FORGIVEN = [
    ("the liver", "liver"), ("LIVER.", "liver"), ("lung nodules", "lung nodule"), ("5mm", "5 mm"),
    ("five mm", "5 mm"), ("twenty-one", "21"), ("3-5 cm", "3 to 5 cm"), ("gall bladder",
    "gallbladder"),
    ("50 %", "50%"), ("arteries", "artery"), ("a mass", "masses"), ("5.0 mm", "5 mm"),
    ("non-specific", "nonspecific"),
]  # fmt: skip
NOT_FORGIVEN = [
    ("hepatitis", "hepatitis A"), ("hepatitis B", "hepatitis A"), ("no fracture", "fracture"),
    ("not left", "left"), ("left", "right"), ("5 cm", "5 mm"), ("50 mm", "5 mm"), ("15 cm",
    "1.5 cm"),
    ("T1", "T2"), ("hypertension", "hypotension"), ("hyperintense", "hypointense"),
    ("with contrast", "without contrast"), ("left lung", "lung"), ("-5", "5"), ("<5 mm", "5 mm"),
    (">5 mm", "<5 mm"), ("atypical", "typical"), ("L4", "L5"), ("benign", "malignant"),
    ("grade II", "grade III"),
    ("asymptomatic", "symptomatic"), ("3", "13"), ("", "liver"), ("1.5", "15"), ("5/10", "5"),
    ("left and right", "left"), ("abduction", "adduction"), ("5-10 mm", "510 mm"), ("2 mg", "2 ml"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), FORGIVEN)
def test_harmless_differences(one, other):
    assert same_filling(one, other) and same_filling(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_FORGIVEN)
def test_differences_that_count(one, other):
    assert not same_filling(one, other) and not same_filling(other, one)
    readings = read_gap(one, "It is ____ here.").readings
    assert not any(same_filling(reading, other) for reading in readings)


@given(st.text(max_size=60))
def test_the_normal_form_is_its_own(text):
    once = normal_form(text)
    assert same_filling(text, text) == bool(once)


@given(
    st.sampled_from([one for pair in NOT_FORGIVEN for one in pair if one]), st.sampled_from(WRAPS)
)
def test_a_filling_is_itself_in_every_dress(filling, wrap):
    # "> 5 cm" is no quotation.
    wrap = "{}" if wrap == "> {}" and not filling[0].isalpha() else wrap
    for text in (filling, f"The missing word is {filling}.", f'It is "{filling}" here.'):
        found = read_gap(wrap.format(text), "It is ____ here.")
        assert any(same_filling(one, filling) for one in found.readings), found


@pytest.mark.parametrize(
    "answer",
    [
        "A: 10%, B: 70%, C: 15%, D: 5%",
        "A (10%), B (70%), C (15%), D (5%)",
        "A = 0.1, B = 0.7",
        "A: 3/10, B: 9/10",
        "A: possible, B: more likely",
        "A? No. B? No. C? Possibly. D? No.",
        "The answer is B? I am not sure.",
        "Answer: A. Pleural effusion\nB. Pneumothorax\nC. Pneumonia\nD. Normal chest",
        "The answer is: A) Pleural effusion, B) Pneumothorax, C) Pneumonia, D) Normal chest",
        "Everything but pneumonia.",
        "It mimics pneumonia.",
        "A common mistake is to answer A.",
    ],
)
def test_choices_that_are_weighed_or_told_again_are_no_answer(answer):
    assert read_choice(answer, CHOICES).status in {"not_read", "several"}


@pytest.mark.parametrize(
    "answer", ["A: No. B: Yes. C: No.", "A: wrong; B: right", "A) No B) Yes", "A? No. B? Yes."]
)
def test_one_choice_that_is_right_where_the_others_are_wrong(answer):
    assert read_choice(answer, CHOICES).letter == "B"


def test_a_part_of_an_image_that_is_normal_is_no_normal_image():
    choices = ("A. Pneumonia", "B. Normal")
    for part in ("The heart size is normal. The lung is not.", "The left lung is normal."):
        assert read_choice(part, choices).status == "not_read", part
    for whole in ("The chest X-ray is normal.", "The image is normal.", "Normal."):
        assert read_choice(whole, choices).letter == "B", whole


@pytest.mark.parametrize(
    "behind",
    [
        "On second thought, right upper", "Hmm, it is right upper.",
        "That is wrong. It is right upper.",
    ],
)  # fmt: skip
def test_words_for_a_gap_that_are_taken_back(behind):
    question = "The mass lies in the ____ lobe."
    assert "left upper" not in read_gap(f"left upper. {behind}", question).readings
    for other in ("left upper, this is wrong", "left upper. right upper.", "left upper, the right"):
        assert "left upper" not in read_gap(other, question).readings
    assert "left upper" in read_gap("left upper. It is not the lower one.", question).readings


@pytest.mark.parametrize(
    ("one", "other"),
    [("10³", "103"), ("HER2-", "HER2"), ("not able", "notable"), ("Rh-", "Rh"), ("≥3", "3")],
)
def test_signs_and_negations_are_no_spelling(one, other):
    assert not same_filling(one, other)
    assert same_filling("12x15 mm", "12 x 15mm") and not same_filling("15x12 mm", "12x15 mm")
    assert read_gap("Sure! The answer is: left", "It is the ____ one.").text == "left"
    assert same_filling("10³", "10^3") and same_filling("left-upper", "left upper")


@pytest.mark.parametrize(
    "answer",
    [
        "It mimics a meningioma.", "Absent meningioma.", "Meningioma: absent.",
        "Anything but a meningioma.", "Far from being a meningioma.",
        "It fails to show a meningioma.", "The lesion lacks features of meningioma.",
        "There is little to suggest meningioma.",
        "The meningioma seen before is no longer visible.", "Meningioma (-).", "Meningioma = no",
        "Meningioma: negative", "Hardly a meningioma.", "Low probability of meningioma.",
        "Inconsistent with meningioma.", "A meningioma is refuted.", "Meningioma less likely",
    ],
)  # fmt: skip
def test_a_key_that_is_denied_in_other_words(answer):
    assert read_key(answer, "meningioma") == "not_stated"
    assert read_key("A little effusion.", "effusion") == "stated"


def test_the_side_of_the_sound_half_is_no_key_unless_it_is_asked_for():
    answer = "The left lung is clear, the right one is not."
    assert read_key(answer, "left", ["right"], "Where is the mass?") == "not_stated"
    assert read_key("That's right, a large mass.", "right", ["left"]) == "not_stated"
    assert read_key("The left lung is clear.", "left", (), "Which lung is clear?") == "stated"


def test_a_bound_is_no_number_and_none_of_them_denies():
    sizes, grades = ("A. 10 mm", "B. 20 mm"), ("A. Mild", "B. Severe")
    for answer in (">20 mm", "≥ 20 mm", "<10 mm"):
        assert read_choice(answer, sizes).status == "not_read", answer
    assert read_choice("> 20 mm", sizes).letter == read_choice("20 mm.", sizes).letter == "B"
    assert read_choice("None of the vessels is severe.", grades).status == "not_read"
