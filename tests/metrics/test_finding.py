"""By which names metrics are found, and what is said where one is not ready."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from medebench.errors import InputError, NotReadyError
from medebench.metrics import (
    LEARNED,
    METRICS,
    BatchMetric,
    SetMetric,
    find_learned,
    find_metric,
    find_metrics,
    metric_info,
    metric_part,
    not_ready,
)


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    for variable in ("MEDEBENCH_WEIGHTS", "HF_HOME", "HF_HUB_CACHE", "MEDEBENCH_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "nowhere"))


@pytest.fixture
def some_weights(real_weights, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(real_weights("lpips-alex.ckpt").parent))


def test_by_default_nothing_needs_weights(no_weights):
    names = [metric.name for metric in find_metrics()]
    assert {find_metric(name).of for name in names} == {"image"}
    assert set(names) < set(METRICS.builtin) and not set(names) & set(LEARNED)
    assert [metric.name for metric in find_metrics(["default"])] == names
    assert [metric.name for metric in find_metrics(["ready"])] == list(METRICS.builtin)


def test_what_is_ready_is_found_by_name(some_weights):
    lpips, kid, alex = find_metrics(["lpips_vgg", "kid_inception", "lpips_alex"])
    assert isinstance(lpips, BatchMetric) and isinstance(kid, SetMetric)
    assert alex.name == "lpips_alex" and alex.variant != lpips.variant
    ready = {metric.name for metric in find_metrics(["ready"])}
    assert {"cp", "lpips_alex", "fid_inception", "niqe"} <= ready


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_missing_is_said_before_any_work(name, no_weights):
    with pytest.raises(NotReadyError, match=f"^metric '{name}': ") as caught:
        find_metrics([name])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert not_ready(name) and not str(not_ready(name)).startswith("metric")


@pytest.mark.parametrize("name", LEARNED)
def test_every_name_has_its_facts_without_weights(name, no_weights):
    known = metric_info(name)
    assert known is not None and known.summary and known.low < known.high
    assert known.name == name or known.name.startswith(f"{name}_")


def test_an_encoder_stands_in_the_name(no_weights):
    for text in ("isim:biomedclip", "isim_biomedclip"):
        assert find_learned(text).which == "biomedclip"
        assert metric_info(text).name == "isim_biomedclip"
    assert metric_info("talign_prompt").name == "talign_prompt_clip-vit-l14"
    # A ledger may hold the name of a folder that is not here.
    assert metric_info("dalign_description_my-clip").name == "dalign_description_my-clip"


@pytest.mark.parametrize(
    "name", ["lpips", "isim:", "isim_", "fid", "lpips_alex_", "ready-made", ""]
)
def test_other_names_are_refused(name):
    with pytest.raises(InputError):
        find_metrics([name] if name != "isim:" else ["isim:no such encoder"])
    assert find_learned("lpips") is None


@pytest.mark.parametrize(
    ("name", "meant"), [("lpips_alexx", "lpips_alex"), ("fid", "fid_inception"), ("LPIPS_VGG", "")]
)
def test_a_slip_is_told_with_what_was_meant(name, meant):
    with pytest.raises(InputError, match=f"did you mean '{meant}.*`medebench metrics` lists them"):
        find_metrics([name])


def test_two_encoders_of_one_name_are_not_mixed_up(real_weights, tmp_path):
    first = real_weights("lpips-alex.ckpt")
    other = tmp_path / "other.ckpt"
    other.write_bytes(first.read_bytes() + b"\0")
    assert len(find_metrics([f"lpips_alex:{first}", f"lpips_alex:{first}"])) == 1
    with pytest.raises(InputError, match="two metrics with different weights are called"):
        find_metrics([f"lpips_alex:{first}", f"lpips_alex:{other}"])


def test_a_device_that_does_not_exist():
    with pytest.raises(InputError, match="device 'tpu': choose auto, cpu, cuda or mps"):
        find_metrics(["cp"], device="tpu")


def test_no_metric_imports_torch_to_say_whether_it_is_ready(tmp_path):
    code = (
        "import sys, json; from medebench.metrics import LEARNED, not_ready, metric_info\n"
        "[(not_ready(n), metric_info(n)) for n in LEARNED]\n"
        "print(json.dumps([m for m in ('torch', 'transformers', 'open_clip') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_file_may_hold_a_metric_with_a_network(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from medebench.metrics import BatchMetric, Measured, MetricInfo\n"
        "class Mine(BatchMetric):\n"
        "    info = MetricInfo('mine', 'my own', 'higher', 0.0, 1.0, ())\n"
        "    variant = '1'\n"
        "    def problem(self): return None\n"
        "    def prepare(self, subject): return 0.5\n"
        "    def measure(self, prepared): return [Measured(one) for one in prepared]\n"
        "ONE = Mine()\n"
        "class Taken(Mine):\n"
        "    info = MetricInfo('lpips_alex', 'not mine', 'higher', 0.0, 1.0, ())\n"
        "TAKEN = Taken()\n"
    )
    (one,) = find_metrics([f"{file}:ONE"])
    assert one.name == "mine"
    with pytest.raises(InputError, match="is a built-in name"):
        find_metrics([f"{file}:TAKEN"])
    with pytest.raises(InputError, match="is a class"):
        find_metrics([f"{file}:Mine"])


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (
            "image",
            ("ssim", "psnr_medgen", "output_aspect_ratio", "lpips_medgen", "isim"),
        ),
        ("text", ("bleu_medgen", "bertscore_medgen", "bertscore_rescaled", "cider")),
        ("text", ("radgraph_xl", "chexbert_f1", "ratescore", "green")),
    ],
)
def test_what_a_metric_is_about_is_known_without_weights(part, names, no_weights):
    assert {metric_part(name) for name in names} == {part}
