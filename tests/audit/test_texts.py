"""Broken texts are told from short, foreign and odd ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.audit.cut_text import cut_reason
from medebench.audit.known_words import Vocabulary
from medebench.audit.mojibake import is_garbled, undone
from medebench.audit.refused_text import is_refused
from medebench.audit.text_checks import text_findings
from medebench.cases import Case
from tests.conftest import load_tool

PLANT = load_tool("planted_flaws")


def wrong(text: str, encoding: str) -> str:
    return text.encode().decode(encoding)


# --- mojibake -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "meant"),
    [
        ("Lighten the eye鈥檚 white.", "Lighten the eye’s white."),
        ("Lighten the eyeâ€™s white.", "Lighten the eye’s white."),
        ("37掳C", "37°C"),
        ("a caf茅-au-lait spot", "a café-au-lait spot"),
        (wrong("a 5 × 5 mm mole", "cp1251"), "a 5 × 5 mm mole"),
        (wrong("Réduire l’œdème – à gauche", "latin-1"), "Réduire l’œdème – à gauche"),
        (wrong("“the mole”—gone", "mac_roman"), "“the mole”—gone"),
        (wrong("the nail’s edge", "cp437"), "the nail’s edge"),
        (wrong("Удалите родинку", "cp1251"), "Удалите родинку"),
        (wrong("去除左脸痣吧", "gbk"), "去除左脸痣吧"),
        (wrong(wrong("the eye’s white", "cp1252"), "cp1252"), "the eye’s white"),
    ],
)
def test_mojibake_is_undone_exactly(broken: str, meant: str) -> None:
    assert undone(broken) == meant
    assert undone(meant) == meant


@pytest.mark.parametrize(
    "text", ["Lighten the eye鈥� white", "the eye\ufffds white", "eyeâ€ s white"]
)
def test_what_is_lost_is_told_and_left_alone(text: str) -> None:
    assert is_garbled(text) and undone(text) == text


@pytest.mark.parametrize("text", PLANT.HEALTHY)
def test_healthy_texts_are_left_alone(text: str) -> None:
    case = Case("1", None, text, description="In the photograph the lesion is gone from the skin.")
    found = {one.code for one in text_findings([case])}
    assert undone(text) == text
    assert found <= {"short-prompt", "no-organ", "no-task"}


_LETTERS = (
    "abcdefghijklmnopqrstuvwxyz àâæçéèêëîïôœùûü",
    "abcdefghijklmnopqrstuvwxyz äöüßæøå",
    "abcdefghijklmnopqrstuvwxyz ñáéíóúãõçâêôüïòì",
    "abcdefghijklmnopqrstuvwxyz ąćęłńóśźżčďěňřšťůžăâîșț",
    "abcdefghijklmnopqrstuvwxyz çğışöüâî",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя АБВГДЕЖ",
    "去除左脸颊上的痣使牙齿变白修复破损皮肤移除疤痕减少皱纹路联通",
    "ほくろを取り除いてください歯白左頬",
    "αβγδεζηθικλμνξοπρστυφχψω ΑΒΓΔ",
    "왼쪽뺨의점을제거하세요치아미백",
)


@given(st.sampled_from(_LETTERS).flatmap(lambda every: st.text(every, max_size=30)))
def test_no_language_is_mistaken_for_mojibake(text: str) -> None:
    for one in (text.strip().lower(), text.strip().upper(), text.strip().title()):
        for whole in (one, f"« {one} » 5 mm", f"„{one}“, ({one})… “{one}”"):
            assert undone(whole) == whole


@given(
    st.lists(
        st.sampled_from(["the eye", "’s", " – ", "é", "“mole”", "5 × 5", " °C ", "…"]), max_size=8
    ),
    st.sampled_from(["cp1252", "latin-1", "gbk", "mac_roman"]),
)
def test_whatever_is_undone_is_what_was_meant(parts: list[str], encoding: str) -> None:
    meant = "".join(parts)
    try:
        broken = wrong(meant, encoding)
    except UnicodeError:
        return
    back = undone(broken)
    if encoding != "gbk":
        assert back == meant


# --- cut texts ------------------------------------------------------------------------------

SET = (
    "Repair the damaged toenail to make it normal.",
    "Remove the scar on the upper eyelid.",
    "Reduce the wrinkles around the mouth.",
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Remove the scar from the", "'the'"),
        ("Repair the toen", "'toenail'"),
        ("Repair the damaged toe nail on", "'on'"),
        ("Smooth the wrinkl", "'wrinkles'"),
        ("Remove the scar and", "'and'"),
        ("Remove the scar from the.", "'the'"),
        ("Remove the mole,", "','"),
        ("Develop a", "'a'"),
        ("Erase the black", "'the black'"),
        ("Reduce", "without an object"),
        ("Take off the mole on", "'on'"),
        ("Make the skin smoother by", "'by'"),
    ],
)
def test_cut_texts_are_found(text: str, why: str) -> None:
    found = cut_reason(text, Vocabulary(SET), SET)
    assert found is not None and why in found


@pytest.mark.parametrize(
    "text",
    [
        *("Take the mole off", "Put a crown on", "Give vitamin A", "Remove nevus", "Remove mole."),
        *("Make the nail look as it was", "Push the tooth back in", "Smooth the wrinkle"),
        *("Clean up the acne scar", "Repair the toenail", "Order an MRI", "Nimm den Verband ab"),
        *("Enlever la tache de la", "Was bleibt, ist an", "Fill the gaps with veneers"),
    ],
)
def test_whole_texts_are_not_cut(text: str) -> None:
    assert cut_reason(text, Vocabulary(SET), SET) is None


def test_a_missing_full_stop_counts_where_nearly_all_have_one() -> None:
    long = "In the clinical photograph the mole on the left cheek was digitally removed and smooth"
    texts = [f"{long} skin is seen {number}." for number in ("here", "there", "now")] * 10
    cases = [Case(str(at), None, "Remove it now.", description=one) for at, one in enumerate(texts)]
    cut = Case("cut", None, "Remove it now.", description=long)
    found = {one.code: one.cases for one in text_findings([*cases, cut])}
    assert found["cut-text"] == ("cut",)
    assert "cut-text" not in {one.code for one in text_findings([cut])}


def test_a_terse_prompt_is_a_note_and_a_cut_one_is_not_terse() -> None:
    cases = [Case("terse", None, "Remove nevus."), Case("cut", None, "Renew the")]
    found = {one.code: one for one in text_findings(cases)}
    assert found["short-prompt"].cases == ("terse",)
    assert found["short-prompt"].severity == "note"
    assert found["cut-text"].cases == ("cut",)
    assert found["cut-text"].severity == "warning"


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", PLANT.REFUSALS)
def test_refusals_are_found(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "The patient was unable to open the eye; after surgery the lid is raised.",
        "Class I occlusion was restored.",
        "The image modality is photography; the mole could not be seen after removal.",
        "The original image is a clinical photograph of the abdominal region.",
        "Here the mole is removed, and the skin is left as it was.",
    ],
)
def test_descriptions_are_no_refusals(text: str) -> None:
    assert not is_refused(text)
