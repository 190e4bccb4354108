"""The published metrics of MedGEN-Bench against other people's code, on 200 random records."""

from __future__ import annotations

import pickle
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

import medebench as mb
from medebench.cases.case import Case
from medebench.metrics import find_metric
from medebench.metrics.medgen.closed_answers_v2 import read_answer_v2
from medebench.metrics.medgen.published_lpips import make as lpips_medgen
from medebench.metrics.metric import Subject, Undefined
from tests.metrics.test_lpips import _draw_tree
from tests.references import run_reference

RECORDS = 200
WORDS = (
    *("no", "large", "left", "right", "pleural", "effusion", "The", "heart.", "lung,", "is"),
    *("normal", "x-ray", "patient's", "CT", "5", "mm", "opacity", "(small)", "and", "of"),
)
#: nltk's BLEU as published, LPIPS of its authors' package with what torchvision does to images.
PUBLISHED = """
import pickle
import lpips
from PIL import Image
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from torchvision import transforms

smooth = {"smoothing_function": SmoothingFunction().method1}
pairs = zip(given["candidates"].tolist(), given["references"].tolist())
answer["bleu"] = [sentence_bleu([b.split()], a.split(), **smooth) for a, b in pairs]

torch.nn.Linear.reset_parameters = lambda self: None
torch.nn.init.normal_ = lambda tensor, *given: tensor
model = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False).eval()
tree = pickle.load(open(given["weights"], "rb"))
layers = [one for one in model.net.modules() if isinstance(one, torch.nn.Conv2d)]
for number, layer in enumerate(layers):
    kernel = tree["AlexNet_0"][f"Conv_{number}"]["kernel"].transpose(3, 2, 0, 1)
    layer.weight.data.copy_(torch.from_numpy(kernel.copy()))
    layer.bias.data.copy_(torch.from_numpy(tree["AlexNet_0"][f"Conv_{number}"]["bias"].copy()))
for number, head in enumerate(model.lins):
    kernel = tree[f"NetLinLayer_{number}"]["Conv_0"]["kernel"]
    head.model[1].weight.data.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
shown = transforms.Compose([transforms.Resize((256, 256)), transforms.ToTensor()])
distances = []
with torch.inference_mode():
    for number in range(given["count"]):
        reference, output = (Image.fromarray(given[f"{one}{number}"]) for one in ("r", "o"))
        if output.size != reference.size:
            output = output.resize(reference.size, Image.Resampling.LANCZOS)
        distances.append(model(shown(output)[None], shown(reference)[None]).item())
answer["lpips"] = distances
"""


@dataclass(frozen=True)
class Record:
    case: Case
    #: The case, opened, and what a system made of it.
    subject: Subject
    reference: Image.Image
    text: str


def sentence(dice: random.Random) -> str:
    blanks = " ".join([" "] * 6 + ["  ", "\n", " \t "]).split(" ")
    words = (dice.choice(WORDS) + dice.choice([one or " " for one in blanks]) for _ in range(40))
    return "".join(list(words)[: dice.choice((0, 1, 2, 3, 4, 8, 30))])


def answers(dice: random.Random, kind: str) -> tuple[str, str, str, tuple[str, ...]]:
    """Instruction, reference, answer and choices of a record of this task."""
    if kind == "multiple-choice":
        bodies = dice.sample(["Heart", "Left  lung", "X-ray", "no effusion", "CT", "Liver"], 4)
        choices = tuple(f"{letter}. {one}" for letter, one in zip("ABCD", bodies, strict=True))
        right, body = dice.choice(choices), dice.choice(bodies)
        letter = dice.choice("ABCDX")
        forms = [
            letter,
            f"{letter}.",
            f" {letter.lower()}) {body} ",
            body,
            body.upper(),
            f"({letter})",
        ]
        forms += [f"The answer is {letter}.", right, right.lower(), f"**{letter}**", sentence(dice)]
        return "Which?", right, dice.choice(forms), choices
    words = sentence(dice) or "lung"
    near = dice.choice([words, words.lower(), words.upper(), f"{words}.", sentence(dice)])
    return "It is ____." if kind == "blank-filling" else "What?", words, near, ()


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> list[Record]:
    folder = tmp_path_factory.mktemp("records")
    return [record(folder, number) for number in range(RECORDS)]


def record(folder: Path, number: int) -> Record:
    dice, generator = random.Random(number), np.random.default_rng(number)
    sizes = [(dice.randrange(8, 60), dice.randrange(8, 60)) for _ in range(3)]
    if number % 3 == 0:
        sizes[2] = sizes[1]
    previous, reference, noise = (
        generator.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes
    )
    output = noise
    if sizes[2] == sizes[1]:
        output = reference if number % 30 == 0 else np.where(noise > 128, reference, noise)
    paths = [folder / f"{number}-{one}.png" for one in ("previous", "reference")]
    for path, pixels in zip(paths, (previous, reference), strict=True):
        Image.fromarray(pixels).save(path)
    kinds = ("multiple-choice", "blank-filling", "question-answering", "3d-to-2d-projection")
    kind = kinds[number % 4]
    prompt, answer, text, choices = answers(dice, kind)
    case = Case(
        str(number),
        paths[0],
        prompt,
        task=kind,
        reference=paths[1],
        answer=answer or "lung",
        choices=choices,
    )
    opened = mb.open_case(case)
    whole = mb.Output(opened.fit(output), text, original=output)
    assert whole.image is not None
    subject = Subject(opened, whole.image, whole=whole)
    return Record(case, subject, Image.fromarray(reference), text)


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    """Weights drawn at random, laid out as our files are."""
    path = tmp_path_factory.mktemp("weights") / "alex.ckpt"
    path.write_bytes(pickle.dumps(_draw_tree("alex"), protocol=3))
    return path


def stretched(one: Record) -> Image.Image:
    output = Image.fromarray(one.subject.whole.came)
    return output.resize(one.reference.size, Image.Resampling.LANCZOS)


def scores(name: str, records: list[Record]) -> list[float]:
    metric = find_metric(name)
    return [metric(one.subject.case, one.subject.whole) for one in records]


def test_psnr_and_ssim_equal_scikit_image(records):
    psnr, ssim = scores("psnr_medgen", records), scores("ssim_medgen", records)
    equal = 0
    for one, ours, likeness in zip(records, psnr, ssim, strict=True):
        pixels = [np.asarray(image, np.float32) for image in (one.reference, stretched(one))]
        if np.array_equal(*pixels):
            equal += 1
            assert ours == 100
        else:
            theirs = peak_signal_noise_ratio(*pixels, data_range=255)
            assert ours == pytest.approx(theirs, abs=1e-6)
        greys = [np.asarray(image.convert("L")) for image in (one.reference, stretched(one))]
        theirs = structural_similarity(*greys, data_range=255)
        assert likeness == pytest.approx(theirs, abs=1e-6)
    assert equal == 7


def test_bleu_equals_nltk_and_lpips_the_package(records, weights, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    images = {f"r{n}": np.asarray(one.reference) for n, one in enumerate(records)}
    images |= {f"o{n}": one.subject.whole.came for n, one in enumerate(records)}
    texts = [normalised(one) for one in records]
    given = {"candidates": [one[0] for one in texts], "references": [one[1] for one in texts]}
    theirs = run_reference(
        PUBLISHED,
        weights=str(weights),
        count=len(records),
        **{name: np.array(one) for name, one in given.items()},
        **images,
    )
    ours = scores("bleu_medgen", records)
    assert np.abs(np.array(ours) - theirs["bleu"]).max() < 1e-6
    assert 0 < np.median(ours) < 1 and 0.0 in ours and 1.0 in ours
    metric = lpips_medgen("lpips_medgen", str(weights), "cpu", 16)
    assert metric.problem() is None
    measured = metric.measure([metric.prepare(one.subject) for one in records])
    found = np.array([one.value for one in measured])
    metric.close()
    assert np.abs(found - theirs["lpips"]).max() < 1e-5
    assert found.max() > 0.1 and (found == 0).sum() == 7


def test_exact_match_and_token_f1_equal_a_computation_by_hand(records):
    exact, f1 = scores("exact_medgen", records), scores("token_f1_medgen", records)
    for one, equal, shared in zip(records, exact, f1, strict=True):
        candidate, reference = (text.lower() for text in normalised(one))
        assert equal == float(candidate == reference), one.text
        words = [re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)?", text) for text in (candidate, reference)]
        both = sum((Counter(words[0]) & Counter(words[1])).values())
        precision, recall = both / max(1, len(words[0])), both / max(1, len(words[1]))
        wanted = 2 * precision * recall / (precision + recall) if both else 0.0
        assert shared == pytest.approx(wanted if any(words) else 1.0, abs=1e-9)
    assert 0.15 < np.mean(exact) < 0.6


def normalised(one: Record) -> tuple[str, str]:
    """As section 2 of the facts describes it, in another way than the package does it."""
    return by_rule(one.text, one.case), by_rule(one.case.answer, one.case)


def by_rule(text: str, case: Case) -> str:
    text = re.sub(r"\s+", " ", text.strip())
    if case.task == "blank-filling":
        return text.lower()
    if case.task != "multiple-choice":
        return text
    options = {
        re.sub(r"\s+", " ", one).lower()[:1]: re.sub(r"\s+", " ", one).lower()
        for one in case.choices
    }
    text = text.lower()
    if re.fullmatch(r"[a-z][.)\]:-]? ?", text):
        return options.get(text[0], text[0])
    if found := re.match(r"([a-z])[.)\]:-] ?(.*)", text):
        return f"{found[1]}. {found[2]}"
    return next((one for one in options.values() if one[3:] == text), text)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("B", 1),
        ("b.", 1),
        ("heart", 1),
        ("B) Heart", 1),
        # Right, and scored 0 as measured on the reference's own functions.
        ("(B)", 0),
        ("**B**", 0),
        ("The answer is B.", 0),
        ("Heart.", 0),
        ("B. heart because it beats", 0),
    ],
)
def test_the_cases_that_were_measured_on_the_published_code(text, head):
    case = Case("1", None, "?", task="multiple-choice", answer="B. Heart")
    case = mb.open_case(Case(**fields(case), choices=("A. Lung", "B. Heart")))
    assert find_metric("exact_medgen")(case, text) == head
    assert find_metric("exact_medgen_v2")(case, text) == 1


def fields(case: Case) -> dict[str, object]:
    return {name: getattr(case, name) for name in ("id", "previous", "prompt", "task", "answer")}


@pytest.mark.parametrize(
    ("text", "reference", "bleu"),
    [
        ("heart", "heart", 0.178),
        ("left lung", "left lung", 0.316),
        ("left lung", "right lung", 0.149),
    ],
)
def test_bleu_of_short_answers_as_measured(text, reference, bleu):
    case = mb.open_case(Case("1", None, "?", task="question-answering", answer=reference))
    assert find_metric("bleu_medgen")(case, text) == pytest.approx(bleu, abs=1e-3)


def test_later_code_reads_more_and_leaves_out_what_it_cannot_read():
    options = ("A. Lung", "B. Heart", "C. Heart valve")
    read = [
        ("Reasoning about A.\nFinal answer: (C)", "c. heart valve"),
        ("It must be the heart valve, I believe", "c. heart valve"),
        ("Not the lung, not C", "c. heart valve"),
        ("The answer a child would give", "a. lung"),
        ("nothing of that", None),
        ("", None),
    ]
    for text, wanted in read:
        assert read_answer_v2(text, options, "letter") == wanted, text
    gaps = [
        ("so\nAnswer: the left lobe.", "the left lobe"),
        (" ".join("x" * 21), None),
        ("..", None),
    ]
    for text, wanted in gaps:
        assert read_answer_v2(text, (), "gap") == wanted, text
    case = mb.open_case(
        Case("1", None, "?", task="multiple-choice", answer="A. Lung", choices=options)
    )
    with pytest.raises(Undefined, match="published mean leaves it out"):
        find_metric("exact_medgen_v2")(case, "nothing of that")
    free = mb.open_case(Case("1", None, "?", task="question-answering", answer="lung"))
    with pytest.raises(Undefined, match="only choices and gaps"):
        find_metric("exact_medgen_v2")(free, "lung")


def test_deep_images_are_cut_as_pillow_cuts_them(tmp_path):
    deep = np.arange(0, 64 * 64 * 16, 16, dtype=np.uint16).reshape(64, 64)
    for name in ("previous", "reference"):
        Image.fromarray(deep).save(tmp_path / f"{name}.png")
    case = mb.open_case(
        Case("1", tmp_path / "previous.png", "?", reference=tmp_path / "reference.png")
    )
    output = mb.Output(case.previous)
    assert find_metric("psnr_medgen")(case, output) == 100
    from medebench.metrics.medgen.original_images import pair_as_published

    with Image.open(tmp_path / "reference.png") as image:
        theirs = np.asarray(image.convert("RGB"))
    assert all(np.array_equal(one, theirs) for one in pair_as_published(case, output.came))


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=9), max_size=4))
def test_no_text_breaks_them(text, answer, choices):
    for kind in ("multiple-choice", "blank-filling", "report-generation"):
        case = Case("1", None, "?", task=kind, answer=answer or "x", choices=tuple(choices))
        for name in ("bleu_medgen", "exact_medgen", "exact_medgen_v2", "token_f1_medgen"):
            try:
                assert 0 <= find_metric(name)(mb.open_case(case), text) <= 1
            except Undefined:
                assert name == "exact_medgen_v2"


def test_long_answers_take_no_longer_than_their_length():
    blanks = "answer" + " " * 200_000 + "!"
    assert read_answer_v2(blanks, ("A. Lung",), "letter") is None
    assert read_answer_v2(blanks, (), "gap") == "!"
