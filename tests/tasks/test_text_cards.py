"""Cards of texts: choices with their letters, and what only one of two texts says."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

import medebench as mb
from medebench.cases import Case
from medebench.reporting.case_card import Cards
from medebench.reporting.text_marks import marks
from medebench.tasks import VQA, CardText
from medebench.tasks.text_difference import MOST_WORDS, differences


def _texts(case, text=None):
    output = None if text is None else mb.Output(text=text)
    return {(one.label, one.side): one for one in VQA.card(mb.open_case(case), output).texts}


def _marked(text):
    return [text.text[one.start : one.stop] for one in text.spans]


def test_choices_have_one_letter_each_and_the_right_one_is_marked():
    lettered = Case("1", None, "Which?", choices=("A. liver", "B. spleen"), answer="B. spleen")
    shown = _texts(lettered)["Choices", "case"]
    assert shown.text == "A. liver\nB. spleen" and _marked(shown) == ["B. spleen"]
    bare = Case("1", None, "Which?", choices=("liver", "spleen"), answer="liver")
    shown = _texts(bare)["Choices", "case"]
    assert shown.text == "A. liver\nB. spleen" and _marked(shown) == ["A. liver"]
    unknown = Case("1", None, "Which?", choices=("liver", "spleen"), answer="neither")
    assert _marked(_texts(unknown)["Choices", "case"]) == []


def test_what_only_one_of_two_texts_says_is_marked_in_both():
    case = Case("1", None, "Describe.", answer="Small effusion on the left.")
    found = _texts(case, "No effusion on the left side.")
    assert _marked(found["Reference", "reference"]) == ["Small"]
    assert _marked(found["Output", "output"]) == ["No", "side"]
    # A choice is right or not, however it is put; and without an output nothing is compared.
    choice = Case("1", None, "Which?", choices=("A. liver", "B. spleen"), answer="B. spleen")
    assert _marked(_texts(choice, "It is B")["Output", "output"]) == []
    assert _marked(_texts(case)["Reference", "reference"]) == []


def test_a_notebook_shows_the_marks_and_no_markup_of_the_text():
    card = VQA.card(
        mb.open_case(Case("1", None, "Describe.", answer="nothing <b>at all</b>")),
        mb.Output(text="nothing <script>"),
    )
    html = card._repr_html_()
    assert "<mark>" in html and "<script>" not in html and "<b>at all" not in html


def test_findings_are_marked_with_what_is_said_of_them():
    found = marks(CardText("Output", "No pneumothorax, small left effusion.", "output"), True)
    assert [(kind, words) for _, _, kind, words in found] == [
        ("finding", "pneumothorax, not there"),
        ("finding", "pleural effusion, left"),
    ]
    assert marks(CardText("Question", "Is there an effusion?"), False) == []
    assert marks(CardText("Output", "effusion " * 3000, "output"), True) == []


def test_the_reference_is_no_text_of_an_output():
    case = Case("1", None, "Describe.", answer="Small effusion on the left.")
    card = Cards(VQA).of_output(mb.open_case(case), mb.Output(text="Large effusion"))
    assert [label for label, *_ in card.texts] == ["Output"]
    [[label, own]] = card.wanted
    said = [case.answer[start:stop] for start, stop, kind, _ in own if kind == "only"]
    assert label == "Reference" and said == ["Small", "on the left"]


_words = st.text(st.sampled_from("ab A.,-é\n "), max_size=60)


@given(_words, _words)
@settings(deadline=None)
def test_without_what_is_marked_two_texts_have_the_same_words(one, other):
    def rest(text, places):
        for start, stop in reversed(places):
            assert 0 <= start < stop <= len(text)
            text = text[:start] + text[stop:]
        return re.findall(r"\w+(?:[-'’]\w+)*", text.casefold())

    mine, theirs = differences(one, other)
    if re.search(r"\w", one) and re.search(r"\w", other):
        # Words that stood apart may touch where something was cut out.
        assert "".join(rest(one, mine)) == "".join(rest(other, theirs))
    else:
        assert (mine, theirs) == ([], [])


def test_very_long_texts_are_not_compared():
    assert differences("a " * (MOST_WORDS + 1), "b") == ([], [])
