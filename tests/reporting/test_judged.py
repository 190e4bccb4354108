"""A model as judge: who it was, what it cost, what it said, and whether it agrees with itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import medebench as mb
from medebench.analysis import reliability
from medebench.judge import find_judge
from medebench.reporting import build_report
from medebench.reporting.collect import collect
from medebench.reporting.methods import dollars, warnings_of
from tests.models.server import FakeServer
from tests.reporting.conftest import adopt_copies, put_scores

DETAIL: dict[str, Any] = {
    "judge": "openai:gpt-4o+prompt",
    "stand_in": False,
    "variant": "0123456789abcdef",
    "rubric": "prompt v1 (823f6fea)",
    "rubric_hash": "823f6fea" * 8,
    "temperature": 0.0,
    "model": "gpt-4o-2024-08-06",
    "differences": ["The stain is gone.", "The <b>gum</b> is paler."],
    "tokens_in": 1234,
    "tokens_out": 321,
    "reason": "Done as asked.",
    "repeats": 2,
    "sd": 0.1414,
}
EA, VQ = "ea_openai:gpt-4o+prompt", "vq_openai:gpt-4o+prompt"


def judged(cases: mb.CaseSet, out: Path) -> mb.Run:
    [run] = adopt_copies(cases.select(limit=3), out, ["A"])
    for i, values in enumerate(([0.8, 0.6], [0.3, 0.3], [0.9, 1.0])):
        detail = DETAIL | {"values": values}
        put_scores(run, EA, {f"c{i}": sum(values) / 2}, detail, cost=0.205)
        put_scores(run, VQ, {f"c{i}": sum(values) / 2}, detail, cost=0.205)
    put_scores(run, "context_openai:gpt-4o+prompt", {"c0": 0.5}, DETAIL)
    # A refusal knows less about the judge, and is no other judge for that.
    known = {key: DETAIL[key] for key in ("judge", "stand_in", "rubric", "temperature")}
    put_scores(run, EA, {"c2": None}, known)
    return run


def test_the_page_says_who_judged_and_what_it_cost(small_set: mb.CaseSet, tmp_path: Path) -> None:
    run = judged(small_set, tmp_path)
    report = build_report([run], tmp_path / "report", published=False)
    page = report.index.read_text(encoding="utf-8")
    who = (
        "openai:gpt-4o+prompt, model gpt-4o-2024-08-06, rubric prompt v1 (823f6fea), "
        "temperature 0.0, mean of 2 repeats"
    )
    head = page[page.index("<header") : page.index("</header>")]
    assert who in head and who in page[page.index('id="methods"') :]
    assert "judging $1.02" in page
    assert "--judge openai:gpt-4o --rubric prompt --repeats 2" in page
    assert [score.label for score in report.table.columns] == ["EA", "VQ", "Context"]
    found = reliability([[0.8, 0.6], [0.3, 0.3], [0.9, 1.0]])
    assert found is not None and found.icc is not None
    assert f"standard error of {found.se:.3f}; ICC(1,1) {found.icc:.3f}." in page
    assert not any("different judges" in text for text in warnings_of(collect([run])))


def test_the_dialog_shows_reasons_and_differences(
    small_set: mb.CaseSet, tmp_path: Path, read_script: Callable[[Path], Any]
) -> None:
    run = judged(small_set, tmp_path)
    index = build_report([run], tmp_path / "report", published=False).index
    lines = read_script(index.parent / "assets" / "details" / "0.js")["c0"]
    assert [line[3] for line in lines if line[2] == EA] == ["reason", "values of the repeats"]
    [seen] = [line for line in lines if line[3] == "differences"]  # once, not once a score
    assert seen[2:] == ["openai:gpt-4o+prompt", "differences", DETAIL["differences"]]
    assert [0, 0, EA, "values of the repeats", "0.8, 0.6"] in lines
    text = str(lines)
    for hidden in ("0123456789abcdef", "823f6fea", "1234", "321"):
        assert hidden not in text


def test_another_model_under_the_same_name_is_said(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set.select(limit=2), tmp_path, ["A", "B"])
    put_scores(runs[0], EA, {"c0": 0.5, "c1": 0.6}, DETAIL)
    put_scores(runs[1], EA, {"c0": 0.5, "c1": 0.6}, DETAIL | {"model": "gpt-4o-2024-11-20"})
    assert any("different judges" in text for text in warnings_of(collect(runs)))


def test_a_setting_the_model_refused_is_not_claimed(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=1), tmp_path, ["A"])
    put_scores(run, EA, {"c0": 0.5}, DETAIL | {"without": ["temperature"]})
    [score] = collect([run]).scores
    assert "temperature not accepted by the model" in score.judge


def test_dollars() -> None:
    assert [dollars(x) for x in (0.0, 0.001, 1.234, 1234.5)] == [
        "",
        "less than $0.01",
        "$1.23",
        "$1,234.50",
    ]


def test_the_exact_question_and_answer_can_be_opened(
    small_set: mb.CaseSet, tmp_path: Path, read_script: Callable[[Path], Any]
) -> None:
    said = json.dumps(
        {
            "differences": ["paler"],
            "editing_accuracy": {"score": 6, "reason": "r"},
            "visual_quality": {"score": 9, "reason": "r"},
        }
    )
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    with FakeServer(answer=lambda call: said) as server:
        judge = find_judge("openai:x", {"base_url": server.base_url("openai")})
        mb.score(run, [], judge)
        sent = [" ".join(call.texts).split() for call in server.calls]
    index = build_report([run], tmp_path / "report", published=False).index
    details = read_script(index.parent / "assets" / "details" / "0.js")
    for case in ("c0", "c1"):
        told = {line[3]: line[4] for line in details[case]}
        assert told["answer"] == [said]
        assert "[image: previous, 64 x 48, sha256 " in told["question"]
        # Word for word what went over the wire.
        words = re.sub(r"\[image: [^]]+\]", "", told["question"]).split()
        assert words in sent and run.cases[case].prompt in told["question"]
