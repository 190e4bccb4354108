"""The published metrics in a run: outputs as they came, answers as the published code has them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.encoders.token_encoder import TokenEncoder
from medebench.errors import NotReadyError
from medebench.files import cache_folder
from medebench.metrics import find_metric
from medebench.metrics.medgen.published_bertscore import make
from medebench.metrics.metric import Measured, Subject, Undefined
from medebench.metrics.perceptual import lpips
from medebench.metrics.text.token_similarity import match_tokens
from tests.conftest import draw
from tests.metrics.test_lpips import _draw_tree

HERE = __file__
IMAGE, TEXT = ("psnr_medgen", "ssim_medgen"), ("bleu_medgen", "exact_medgen", "token_f1_medgen")


class Upright(mb.System):
    """Gives an upright image where a wide one is asked for."""

    gives = ("image", "text")

    def generate(self, request):
        return mb.Output(draw(7, 90, 50), "The answer is A.")


def cases(text, progress, folder=None):
    folder = cache_folder() / "published"
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("in", (40, 60)), ("out", (80, 120))):
        Image.fromarray(draw(len(name), *size)).save(folder / f"{name}.png")
    first, other = folder / "in.png", folder / "out.png"
    options = ("A. Lung", "B. Heart")
    made = (
        Case("ask", first, "?", task="multiple-choice", answer="A. Lung", choices=options),
        Case("turn", first, "!", task="3d-to-2d-projection", reference=other, answer="A lung."),
        Case("edit", first, "!", task="style-transfer", reference=other),
    )
    return CaseSet("published", folder, made, text, task="medgen")


def test_scores_are_of_what_came(tmp_path):
    run = mb.generate(f"{HERE}:cases", f"{HERE}:Upright", tmp_path / "run")
    names = (*IMAGE, *TEXT, "exact_medgen_v2", "output_aspect_ratio")
    mb.score(run, ",".join(names))
    rows = {(row["case"], row["metric"]): row for row in run.frame().iter_rows(named=True)}
    value = {key: row["value"] for key, row in rows.items()}
    reference = np.asarray(Image.open(cache_folder() / "published" / "out.png"), np.float32)
    came = Image.fromarray(draw(7, 90, 50)).resize((120, 80), Image.Resampling.LANCZOS)
    error = np.mean((np.asarray(came, np.float64) - reference) ** 2)
    assert value["turn", "psnr_medgen"] == pytest.approx(20 * np.log10(255 / error**0.5), abs=1e-6)
    assert value["edit", "psnr_medgen"] == value["turn", "psnr_medgen"]
    assert value["edit", "output_aspect_ratio"] == pytest.approx(50 / 90 * 40 / 60)
    assert (value["ask", "exact_medgen"], value["ask", "exact_medgen_v2"]) == (0, 1)
    assert value["turn", "token_f1_medgen"] == pytest.approx(1 / 3)
    kinds = {key: row["kind"] for key, row in rows.items() if row["value"] is None}
    # What the task does not ask for is no failure of the system's.
    assert set(kinds.values()) == {"not-applicable"}
    assert kinds.keys() == {
        *(("edit", name) for name in (*TEXT, "exact_medgen_v2")),
        *(("ask", name) for name in (*IMAGE, "output_aspect_ratio")),
        ("turn", "exact_medgen_v2"),
    }


def test_lpips_of_a_run_is_that_of_its_files(tmp_path):
    pytest.importorskip("torch")
    weights = tmp_path / "alex.ckpt"
    weights.write_bytes(pickle.dumps(_draw_tree("alex"), protocol=3))
    run = mb.generate(f"{HERE}:cases", f"{HERE}:Upright", tmp_path / "run")
    mb.score(run, f"lpips_medgen:{weights}", device="cpu")
    rows = {row["case"]: row for row in run.frame().iter_rows(named=True)}
    assert rows["ask"]["kind"] == "not-applicable"
    small = [
        np.asarray(one.resize((256, 256), Image.Resampling.BILINEAR))
        for one in (
            Image.open(cache_folder() / "published" / "out.png"),
            Image.fromarray(draw(7, 90, 50)).resize((120, 80), Image.Resampling.LANCZOS),
        )
    ]
    wanted = lpips(*small, weights=str(weights), published=True)
    assert rows["turn"]["value"] == rows["edit"]["value"] == pytest.approx(wanted, abs=1e-6)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert", layers=12)


def asked(text: str, **changes) -> Subject:
    case = Case("1", None, "?", task="multiple-choice", answer="A. the scar", **changes)
    return Subject(mb.open_case(case), draw(1), whole=mb.Output(text=text))


def test_bertscore_is_of_the_normalised_texts(bert):
    metric = make("bertscore_medgen", str(bert), "cpu")
    assert metric.problem() is None and "layer 12" in metric.variant
    choices = {"choices": ("A. the scar", "B. the mole")}
    right, wrong = asked("a)", **choices), asked("B", **choices)
    free = asked("The  Teeth", choices=())
    prepared = [metric.prepare(one) for one in (right, wrong, free)]
    assert prepared[:2] == [("a. the scar", "a. the scar"), ("b. the mole", "a. the scar")]
    same, other, _ = metric.measure(prepared)
    assert isinstance(same, Measured) and same.value == pytest.approx(1)
    read = TokenEncoder(str(bert), layer=12).read(["b. the mole", "a. the scar"])
    assert other.value == pytest.approx(match_tokens(*read).f1, abs=1e-6)
    (nothing,) = metric.measure([metric.prepare(asked("", **choices))])
    assert nothing.value == 0
    with pytest.raises(Undefined, match="has no text"):
        metric.prepare(Subject(right.case, draw(1), whole=mb.Output(draw(1))))
    metric.close()


def test_bertscore_needs_its_weights():
    with pytest.raises(NotReadyError, match=r"bertscore_medgen': .*weights get pubmedbert"):
        find_metric("bertscore_medgen")
