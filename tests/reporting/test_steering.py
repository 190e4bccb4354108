"""The report says how outputs were steered: by a judge that looked on, by a sweep."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.models.model_family import FAMILIES, model_families
from medebench.reporting import build_report
from medebench.reporting.collect import collect
from medebench.reporting.methods import warnings_of
from tests.conftest import REPOSITORY
from tests.reporting.conftest import adopt_copies, put_scores


@pytest.fixture
def refined(small_set, tmp_path):
    def make(judge="offline", name="refined"):
        run = mb.edit(small_set, f"refine:judge={judge},rounds=1,blur:sigma=2", tmp_path / name)
        mb.score(run, ["cp"], "offline")
        return run

    return make


def test_scores_of_the_judge_that_refined_are_marked_as_not_blind(refined, small_set, tmp_path):
    run, other = refined(), mb.edit(small_set, "blur:sigma=2", tmp_path / "plain")
    mb.score(other, ["cp"], "offline")
    report = build_report([run, other], tmp_path / "report")
    said = (
        "Intended change made and VQ of refined are not blind, and are not ranked: the same judge "
        "(offline-2) look"
    )
    page = report.index.read_text("utf-8")
    assert said in page and "refined by offline-2" in page
    assert said in report.table.markdown() and "plain are not blind" not in page
    (row,) = [one for one in report.table.rows if one.name == "refined"]
    assert "sees the reference and the ROI" in row.note and "refined by offline-2" in row.note
    many = len(small_set)
    told = f"refined made {2 * many} attempts at {many} outputs; {many} were tried more than once"
    assert told in page


def test_what_is_not_blind_is_not_called_the_best(refined, small_set, tmp_path):
    """Made by copying the answer, it has the best score by far; another run still leads."""
    best = mb.edit(small_set, "refine:rounds=1,reference", tmp_path / "refined")
    weak = mb.edit(small_set, "inpaint", tmp_path / "weak")
    weaker = mb.edit(small_set, "blur:sigma=9", tmp_path / "weaker")
    for run in (best, weak, weaker):
        run.info.control = False
        mb.score(run, ["cp"], "offline")
    report = build_report([best, weak, weaker], tmp_path / "report")
    key = "own", "intended_offline"
    cells = {row.name: row.cells[key] for row in report.table.rows if row.entry}
    assert cells["refined"].micro.value > max(cells[n].micro.value for n in ("weak", "weaker"))
    assert not cells["refined"].best_micro and cells["refined"].mark == ""
    assert cells["weak"].best_micro or cells["weaker"].best_micro
    page = report.index.read_text("utf-8")
    assert "refined has the best Intended" not in page and "refined, which sees" not in page


OWN_JUDGE = """
import medebench as mb
class Mine:
    name = "mine-1"
    summary = "half for all"
    stand_in = True
    scores = ("ea_mine",)
    def judge(self, case, output):
        return {"ea_mine": mb.Verdict(0.5)}
"""


def test_another_judges_scores_are_not_marked(refined, tmp_path):
    (tmp_path / "mine.py").write_text(OWN_JUDGE)
    run = refined(judge=f"{tmp_path / 'mine.py'}:Mine")
    assert run.info.judged_by == "mine-1"
    page = build_report([run], tmp_path / "report").index.read_text("utf-8")
    assert "are not blind" not in page and "refined by mine-1" in page


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("openai:gpt-4o+prompt", ("OpenAI",)),
        ("openai:o4-mini", ("OpenAI",)),
        ("openai-image:gpt-image-1", ("OpenAI",)),
        ("DALL-E 3", ("OpenAI",)),
        ("google/medgemma-4b-it", ("Google",)),
        ("gemini:gemini-2.5-flash-image", ("Google",)),
        ("Imagen-4.0-fast", ("Google",)),
        ("anthropic:claude-sonnet-4-5", ("Anthropic",)),
        ("openai:Qwen/Qwen3-VL-8B-Instruct", ("Qwen",)),
        ("qwen3-vl-235b-a22b-instruct", ("Qwen",)),
        ("lingshu-medical-mllm/Lingshu-32B", ("Qwen",)),
        ("HuatuoGPT-Vision-7B", ("Qwen",)),
        ("HuatuoGPT-Vision-34B", ("Yi",)),
        ("meta-llama/Llama-3.2-11B-Vision", ("Llama",)),
        ("RadFM", ("Llama",)),
        ("microsoft/llava-med-v1.5-mistral-7b", ("Mistral",)),
        ("deepseek-r1-distill-llama-8b", ("Llama", "DeepSeek")),
        ("Show-o", ("Phi",)),
        ("show-o2", ("Phi",)),
        ("Ming-UniVision", ("Ming",)),
        ("Seedream-4.0", ("Seed",)),
        ("composed:openai:gpt-4o+gemini:gemini-2.5-flash-image", ("OpenAI", "Google")),
        ("identity", ()),
        ("offline-2", ()),
        ("openai:my-own", ()),
        ("minigpt-4", ()),
        ("biomedical-o2-model", ()),
    ],
)
def test_models_are_known_by_their_family(name, families):
    assert model_families(name) == families


def test_the_table_of_families_is_in_the_docs():
    told = (REPOSITORY / "docs" / "judge.md").read_text("utf-8")
    for one in FAMILIES:
        assert f"| {one.name} |" in told
        assert all(f"`{name}" in told for name in (*one.own, *one.derived)), one.name


def judged_by(run, judge):
    detail = {"judge": judge, "rubric": "medgen-clinical v1 (00000000)", "temperature": 0.0}
    put_scores(run, f"ea_{judge}", {f"c{n}": 0.2 + n / 10 for n in range(4)}, detail)


def test_fault_22_a_judge_of_the_systems_own_family_is_marked(small_set, tmp_path):
    own, other = adopt_copies(mb.load_cases(small_set), tmp_path, ["qwen3-vl", "gpt-4o"])
    composed = adopt_copies(mb.load_cases(small_set), tmp_path / "more", ["mixed"])[0]
    composed.info.settings = {
        "chain": {"model": "openai:gpt-4o", "editor": {"name": "x", "settings": {"model": "qwen2"}}}
    }
    judge = "openai:Lingshu-32B+medgen-clinical"
    for run in (own, other, composed):
        judged_by(run, judge)
    material = collect([own, other, composed])
    told = [one for one in warnings_of(material) if "of one family" in one]
    assert [one.partition(":")[0] for one in told] == ["EA of qwen3-vl", "EA of mixed"]
    assert "(Qwen)" in told[0]
    report = build_report([own, other, composed], tmp_path / "report", published=False)
    assert told[0] in report.index.read_text("utf-8") and told[0] in report.table.markdown()
    # A prompt or a judge that names a model makes no family.
    other.info.settings = {"wording": "Do as qwen does: {instruction}", "judge": "openai:qwen2"}
    assert not [one for one in warnings_of(collect([other])) if "family" in one]
