"""Findings of texts as people write them, and answers that would fool a search for words."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medebench as mb
from medebench.cases import Case
from medebench.metrics import Undefined, find_metric
from medebench.metrics.text.finding_match import match_findings
from medebench.metrics.text.finding_words import LEXICON, lexicon
from medebench.metrics.text.findings import find_findings
from tests.conftest import load_tool

#: A text, and its findings: "-" is not there, "?" unsure, "(" only spoken of; L, R or B for sides.
READ = {
    "No pneumothorax, small left effusion.": "-pneumothorax, L pleural effusion",
    "There is a large pneumothorax.": "pneumothorax",
    "Pneumothorax ruled out.": "-pneumothorax",
    "I cannot see a pneumothorax.": "-pneumothorax",
    "Pneumothorax could not be seen.": "-pneumothorax",
    "No focal consolidation, pleural effusion, or pneumothorax.": (
        "-consolidation, -pleural effusion, -pneumothorax"
    ),
    "No airspace disease, large effusion or pneumothorax is seen.": (
        "-consolidation, -pleural effusion, -pneumothorax"
    ),
    "Heart size is normal. The lungs are clear.": "-cardiomegaly, -opacity",
    "The heart is mildly enlarged.": "cardiomegaly",
    "No effusion, heart size is normal.": "-pleural effusion, -cardiomegaly",
    "Lungs are clear of pneumonia or effusion.": "-opacity, -pneumonia, -pleural effusion",
    "Pneumothorax is not seen. Left effusion has resolved.": "-pneumothorax, -L pleural effusion",
    "Cannot exclude pneumonia in the right lower lobe.": "?R pneumonia",
    "Pneumonia cannot be excluded.": "?pneumonia",
    "Pneumonia is unlikely.": "-pneumonia",
    "Left and right pleural effusions.": "B pleural effusion",
    "Right greater than left effusions": "B pleural effusion",
    "Atelectasis on the right and effusion on the left.": "R atelectasis, L pleural effusion",
    "Blunting of the left costophrenic angle": "L pleural effusion",
    "Elevated right hemidiaphragm": "R elevated diaphragm",
    "No, there is a fracture.": "fracture",
    "No change in the left pleural effusion.": "L pleural effusion",
    "History of melanoma. Basal cell carcinoma on the right cheek.": (
        "(melanoma, R basal cell carcinoma"
    ),
    "INDICATION: pneumonia? FINDINGS: No pneumonia.": "(pneumonia, -pneumonia",
    "Left effusion and cardiomegaly": "L pleural effusion, cardiomegaly",
    "In the left upper lobe there is a nodule.": "L nodule",
    "Effusion, pneumothorax or fracture is not seen.": (
        "-pleural effusion, -pneumothorax, -fracture"
    ),
    "There is a left effusion and pneumothorax is not seen.": "L pleural effusion, -pneumothorax",
    "The kidney shows no hydronephrosis but there is a renal calculus.": (
        "-hydronephrosis, kidney stone"
    ),
    "Gallstones without cholecystitis": "gallstone, -cholecystitis",
    "Hyperintense lesion on T2, no restricted diffusion": "hyperintensity, lesion, -ischemia",
    "Invasive ductal carcinoma with necrosis; no lymphovascular invasion.": (
        "ductal carcinoma, necrosis, -invasion"
    ),
    "Erythematous scaly plaques on both elbows, suggestive of psoriasis": (
        "B erythema, B scale, ?B psoriasis"
    ),
    "Subdural haematoma on the left, midline shift is absent": (
        "L subdural hemorrhage, -midline shift"
    ),
    "Benign naevus rather than melanoma": "-malignancy, nevus, -melanoma",
    "The lesion is not malignant.": "lesion, -malignancy",
    "There isn't any pneumothorax, and the scan doesn’t show a fracture.": (
        "-pneumothorax, -fracture"
    ),
    "We can't exclude a fracture.": "?fracture",
    "Pneumothorax: absent. Effusion: present": "-pneumothorax, pleural effusion",
    "- Pneumothorax: none\n- Left effusion: yes": "-pneumothorax, L pleural effusion",
    "Pneumothorax: no, effusion: no change": "-pneumothorax, pleural effusion",
    "FINDINGS: Melanoma is less likely.": "?melanoma",
    "normal chest": "-abnormality",
    "The picture shows a hand.": "",
    "A cat sits on the mat": "",
    "": "",
}


def told(text: str) -> str:
    sides = {"left": "L ", "right": "R ", "both": "B ", "": ""}
    marks = (
        ("(" if one.aside else "-" if one.negated else "?" if one.uncertain else "")
        + sides[one.side]
        + one.name
        for one in find_findings(text)
    )
    return ", ".join(marks)


@pytest.mark.parametrize("text", READ)
def test_texts_are_read(text):
    assert told(text) == READ[text]


def scored(answer: str, reference: str, name: str = "finding_f1"):
    case = mb.open_case(Case("1", None, "What is seen?", answer=reference))
    try:
        return find_metric(name)(case, answer)
    except Undefined as why:
        return str(why)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("large pneumothorax", "no pneumothorax"),
        ("no pneumothorax", "large pneumothorax"),
        ("right lung opacity", "left lung opacity"),
        ("The lesion is benign.", "The lesion is malignant."),
        ("malignant nodule", "benign nodule"),
        ("melanoma", "basal cell carcinoma"),
        ("hyperdense", "hypodense"),
        ("normal study", "acute abnormality"),
        ("", "left pleural effusion"),
        ("I cannot tell.", "left pleural effusion"),
    ],
)
def test_what_contradicts_the_reference_is_wrong(answer, reference):
    """Fault 9 of the reference: a list of words gives each of these pairs 1 or nothing."""
    assert scored(answer, reference) == 0
    assert scored(reference, reference) == 1


def test_two_texts_without_findings_have_no_score():
    for name in ("finding_f1", "finding_precision", "finding_recall"):
        assert "neither answer nor reference" in scored("a cat", "a dog", name)
    assert "says of no finding" in scored("", "left effusion", "findings_hallucinated")
    assert "says of no finding" in scored("effusion", "no effusion", "findings_omitted")
    assert "states no finding" in scored("a cat", "left effusion", "finding_precision")
    assert scored("", "left effusion", "finding_precision") == 0
    assert scored("", "left effusion", "findings_omitted") == 1
    assert scored("x", "left effusion", "finding_coverage") == 1
    assert scored("x", "a dog", "finding_coverage") == 0


def test_shares_of_what_was_said():
    reference = "Left pleural effusion and cardiomegaly. No pneumothorax."
    answer = "Left effusion, atelectasis. No fracture. No pneumothorax."
    assert scored(answer, reference, "finding_precision") == pytest.approx(2 / 3)
    assert scored(answer, reference, "finding_recall") == pytest.approx(2 / 3)
    assert scored(answer, reference, "findings_hallucinated") == 1 / 2
    assert scored(answer, reference, "findings_omitted") == 1 / 2
    match = match_findings(answer, reference)
    assert (match.invented, match.omitted) == ({"atelectasis"}, {"cardiomegaly"})
    detail = (
        find_metric("finding_f1")
        .measure(mb.open_case(Case("1", None, "What?", answer=reference)), answer)
        .detail
    )
    assert detail == {
        "in_answer": 4,
        "in_reference": 3,
        "wrong": ["atelectasis"],
        "missed": ["cardiomegaly"],
    }


def test_both_sides_are_two():
    assert match_findings("left effusion", "bilateral effusions").recall == 1 / 2
    assert match_findings("bilateral effusions", "left effusion").precision == 1 / 2
    # A side that one of them does not name is no contradiction.
    assert match_findings("effusion", "bilateral effusions").f1 == 1


@given(st.text(alphabet=st.sampled_from("no lung.,\n:left-effusion ÄßİAQ\ud7ff0123"), max_size=80))
def test_any_text_has_findings_inside_it(text):
    for one in find_findings(f"{text} no left effusion, or {text}"):
        assert 0 <= one.start < one.end <= 2 * len(text) + 24


@given(
    st.lists(
        st.sampled_from(
            ["no", "left", "right", "effusion", "pneumothorax", "and", ",", ".", "or", "is", "not",
             "seen", "possible", "benign", "lesion", "but", "with", "small", "clear", "of", "lungs"]
        ),
        max_size=25,
    )
)  # fmt: skip
def test_a_text_agrees_with_itself(words):
    text = " ".join(words)
    match = match_findings(text, text)
    assert match.f1 in (None, 1.0) and not match.invented and not match.omitted


def test_the_lexicon_covers_all_modalities():
    known = lexicon().seen_in
    modalities = ("CT", "MRI", "Ultrasound", "X-ray", "Pathology", "Clinical Photography")
    assert {one for where in known.values() for one in where} == set(modalities)
    for modality in modalities:
        assert sum(modality in where for where in known.values()) >= 40
    assert LEXICON.stat().st_size < 60_000


def test_reports_are_compared_with_their_codes(tmp_path, capsys, monkeypatch):
    """The tool, on two reports written here in the layout of the package."""
    report = (
        "<r><AbstractText Label='FINDINGS'>{}</AbstractText><AbstractText Label='IMPRESSION'/>"
        "<MeSH><major>{}</major></MeSH></r>"
    )
    texts = [
        ("Small left pneumothorax.", "Pneumothorax/left"),
        ("No pneumothorax. Heart is enlarged.", "Cardiomegaly/mild"),
    ]
    with tarfile.open(tmp_path / "NLMCXR_reports.tgz", "w:gz") as archive:
        for number, told in enumerate(texts):
            data = report.format(*told).encode()
            entry = tarfile.TarInfo(f"reports/{number}.xml")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    tool = load_tool("lexical_findings")
    rows = {
        one.finding: one
        for one in tool.measure(list(tool.read_reports(tool.find_archive(tmp_path))))
    }
    row = rows["pneumothorax"]
    assert (row.coded, row.found, row.both, row.named, row.named_and_coded) == (1, 1, 1, 2, 1)
    assert (row.precision, row.recall, row.without_rules) == (1, 1, 1 / 2)
    assert rows["cardiomegaly"].recall == 1
    monkeypatch.setattr("sys.argv", ["lexical_findings", "--package", str(tmp_path)])
    tool.main()
    assert "2 reports, 2 state a finding" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["lexical_findings", "--package", str(tmp_path / "no")])
    with pytest.raises(SystemExit, match=r"has no NLMCXR_reports\.tgz; install torchxrayvision"):
        tool.main()


def test_the_lexicon_reads_real_reports():
    """Where the package is installed; the floors are below what docs/text-metrics.md tells."""
    tool = load_tool("lexical_findings")
    if (archive := tool.find_archive(None)) is None:
        pytest.skip("torchxrayvision is not installed")
    rows = {one.finding: one for one in tool.measure(list(tool.read_reports(archive)))}
    for finding in ("pneumothorax", "pleural effusion", "cardiomegaly", "atelectasis"):
        assert rows[finding].precision > 0.75 and rows[finding].recall > 0.75


@pytest.mark.parametrize(
    "told",
    [
        "R pleural effusion",
        "Pleural effusion, right.",
        "Effusion: right",
        "Effusion: present (right)",
    ],
)
def test_a_side_in_short_is_a_side(told):
    assert match_findings(told, "left pleural effusion").f1 == 0
    assert match_findings(told, "right pleural effusion").f1 == 1
    assert [one.side for one in find_findings("R/O effusion")] == [""]
    assert [one.side for one in find_findings("an effusion of 2 L")] == [""]
    assert find_findings("The pneumothorax is gone.")[0].negated
