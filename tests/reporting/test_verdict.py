"""The first screen: whether a model can be trusted, with failures that cost."""

from __future__ import annotations

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.files import cache_folder
from medebench.reporting import build_report, headline_table
from medebench.reporting.collect import collect
from medebench.reporting.scale_runs import is_scale, scale_runs
from medebench.reporting.statistics import compute
from medebench.reporting.summary_text import finding
from medebench.reporting.verdict import Verdict, make_verdicts
from tests.reporting.conftest import FakeJudge, adopt_copies, make_runs, put_scores

EA, VQ = "ea_model", "vq_model"


def verdicts(runs: list[mb.Run]) -> dict[str, Verdict]:
    material = collect(runs)
    found = make_verdicts(material, compute(material), "cp")
    assert found is not None
    return {one.entry.name: one for one in found.models}


def marks(one: Verdict) -> dict[str, str]:
    return {answer.question: answer.mark for answer in one.answers}


def judged(run: mb.Run, values: dict[str, float], detail: bool = True) -> None:
    """EA as given and VQ that is fine, by a model that is no stand-in."""
    told = {"judge": "model", "stand_in": False} if detail else {}
    put_scores(run, EA, dict(values), told)
    put_scores(run, VQ, dict.fromkeys(values, 0.9), told)


@pytest.fixture
def broken(small_set: mb.CaseSet, tmp_path: Path) -> list[mb.Run]:
    """`whole` edits well; `patchy` as well as that where it delivers, which it often does not."""
    whole, patchy = tmp_path / "pictures" / "whole", tmp_path / "pictures" / "patchy"
    for folder in (whole, patchy):
        folder.mkdir(parents=True)
    for number, case in enumerate(small_set):
        picture = cv2.GaussianBlur(np.asarray(mb.open_case(case).reference), (0, 0), 1.5)
        name = f"{case.id}_0.png"
        cv2.imwrite(str(whole / name), picture[..., ::-1])
        if number < 7:
            (patchy / name).write_bytes((whole / name).read_bytes() if number < 4 else b"")
    runs = [mb.adopt(one, small_set, tmp_path / "runs" / one.name) for one in (whole, patchy)]
    runs.append(mb.edit(small_set, "identity", tmp_path / "runs" / "identity"))
    mb.score(runs, "cp,ssim")
    ids = [case.id for case in small_set]
    judged(runs[0], {one: 0.9 - 0.01 * n for n, one in enumerate(ids)})
    judged(runs[1], {one: 0.95 - 0.01 * n for n, one in enumerate(ids[:4])})
    judged(runs[2], dict.fromkeys(ids, 0.0))
    return runs


def test_a_model_that_often_fails_is_not_the_best(broken: list[mb.Run], tmp_path: Path) -> None:
    table = headline_table(broken, published=False)
    assert (table.basis, table.bases) == ("asked", ("own", "asked"))
    whole, patchy, _ = table.rows
    assert whole.cells["asked", EA].best_micro and not patchy.cells["asked", EA].best_micro
    # What it delivered stays on show, and so does how much that was.
    assert patchy.cells["own", EA].micro.value == pytest.approx(0.935)
    assert patchy.cells["asked", EA].micro.value == pytest.approx(4 * 0.935 / 9)
    assert patchy.cells["asked", EA].charged == 5
    assert table.delivered["patchy"] == (4, 9)
    material = collect(broken)
    lead = " ".join(finding(material, compute(material), "cp").lead)
    assert "whole has the best EA" in lead and "patchy has" not in lead


def test_nobody_is_the_best_by_failing(broken: list[mb.Run]) -> None:
    """Doing nothing preserves everything, so failures lift CP; that is no merit."""
    table = headline_table(broken, published=False)
    whole, patchy, _ = (row.cells["asked", "cp"] for row in table.rows)
    assert (patchy.micro.value or 0) > (whole.micro.value or 0)
    assert whole.best_micro and not patchy.best_micro
    assert "Whom that lifts is not called the best (patchy: " in table.costs
    preserves = next(a for a in verdicts(broken)["patchy"].answers if a.question == "Preserves")
    assert preserves.mark != "yes" and "4 failed" in preserves.words  # one has no CP


def test_failures_can_be_left_out(broken: list[mb.Run]) -> None:
    assert headline_table(broken, published=False, failures="omit").basis == "own"


def test_verdict_of_a_model_that_fails(broken: list[mb.Run]) -> None:
    found = verdicts(broken)
    assert marks(found["whole"])["Delivers"] == "yes"
    assert marks(found["whole"])["Edits"] == "yes"
    assert found["whole"].trust.mark == "yes"
    assert marks(found["patchy"])["Delivers"] == "no"
    assert found["patchy"].trust.mark == "no"
    assert "delivers" in found["patchy"].trust.numbers
    delivers = found["patchy"].answers[0]
    assert (delivers.words, delivers.numbers) == ("44 %", "4 of 9")


def test_absent_outputs_are_no_other_case_set(broken: list[mb.Run], tmp_path: Path) -> None:
    page = build_report(broken, tmp_path / "report", published=False).index.read_text()
    assert "different case" not in page and "fingerprints differ" not in page
    assert "patchy 5 of 9" in page


def test_an_edit_that_is_none_is_no_edit(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set, tmp_path, ["model"])
    runs.append(mb.edit(small_set, "identity", tmp_path / "runs" / "identity"))
    mb.score(runs, "cp")
    noise = np.random.default_rng(0).uniform(0, 0.1, (2, len(small_set)))
    for run, values in zip(runs, noise, strict=True):
        judged(run, {case.id: float(v) for case, v in zip(small_set, values, strict=True)})
    found = verdicts(runs)["model"]
    edits = next(answer for answer in found.answers if answer.question == "Edits")
    assert (edits.mark, edits.words) == ("no", "no better than doing nothing")
    assert found.trust.mark == "no"


def test_a_stand_in_makes_nobody_trusted(runs: list[mb.Run]) -> None:
    found = verdicts(runs)["good"]
    assert all(answer.stand_in for answer in found.answers if answer.question == "Edits")
    assert found.trust.mark == "unknown"
    assert "edits" in found.trust.numbers


def test_too_few_sources_are_no_verdict(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set.select(limit=3), tmp_path, models=["only"], judge=FakeJudge())
    found = verdicts(runs)["only"]
    assert marks(found)["Preserves"] == "unknown"
    assert found.sure.startswith("only 3 source images")


def test_the_page_begins_with_the_verdict(broken: list[mb.Run], tmp_path: Path) -> None:
    made = build_report(broken, tmp_path / "report", published=False)
    page = made.index.read_text()
    assert page.index('id="verdict"') < page.index('id="headline"') < page.index('class="finding"')
    rows = list(csv.DictReader((tmp_path / "report" / "verdict.csv").read_text().splitlines()))
    assert [row["Run"] for row in rows] == ["whole", "patchy", "identity"]
    assert rows[1]["Trust it?"].startswith("no: no, fails: delivers")
    assert made.verdicts is not None and "whole" in made.verdicts.csv()
    assert "whole: yes, on these cases; patchy: no." in page
    # Best, typical and worst output, with their pictures beside the page.
    for rank in ("Best", "Typical", "Worst"):
        assert f"<b>{rank}</b> by “Preserves”" in page


def test_the_scale_is_made_unasked_kept_apart_and_reused(
    small_set: mb.CaseSet, tmp_path: Path
) -> None:
    runs = make_runs(small_set, tmp_path, controls=[])
    first = build_report(runs, tmp_path / "report", published=False)
    names = [row.name for row in first.table.of("control")]
    assert names == ["identity", "reference"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["good", "poor"]
    made = sorted((cache_folder() / "scale").rglob("ledger.sqlite"))
    assert made
    before = [path.read_bytes() for path in made]
    again, why = scale_runs(runs)
    assert not why and all(map(is_scale, again))
    assert [path.read_bytes() for path in made] == before
    told = "made for scale by the report"
    page = first.index.read_text()
    # The command that repeats the report names only what the user has.
    assert told in page and "runs/identity" not in page.split("To reproduce")[1]


def test_no_scale_where_there_is_a_control_or_none_is_wanted(
    runs: list[mb.Run], small_set: mb.CaseSet, tmp_path: Path
) -> None:
    assert scale_runs(runs) == ([], "")
    bare = make_runs(small_set, tmp_path, controls=[])
    assert not build_report(bare, tmp_path / "report", scale=False).table.of("control")


def test_cases_are_left_out_by_finding(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set, tmp_path)
    audited = mb.check_cases(small_set)
    code = next(one.code for one in audited.findings if 0 < len(one.cases) < len(small_set) - 3)
    gone = next(one.cases for one in audited.findings if one.code == code)
    made = build_report(runs, tmp_path / "report", published=False, without=[code])
    left = len(small_set) - len(gone)
    assert made.table.rows[0].cells["own", "ssim"].total == left
    page = made.index.read_text()
    assert f"{left} of {len(small_set)} cases: without {code} ({len(gone)})" in page
    assert f"without {code} ({len(gone)})" in made.table.markdown()
    # The runs stay as they are.
    assert all(run.info.cases.fingerprint == small_set.fingerprint for run in runs)
    with pytest.raises(mb.InputError, match="no finding 'nonsense'"):
        build_report(runs, tmp_path / "other", without=["nonsense"])


def test_scores_are_left_out_by_finding(small_set: mb.CaseSet, tmp_path: Path) -> None:
    audited = mb.check_cases(small_set)
    one = next(o for o in audited.findings if 0 < len(o.cases) < len(small_set))
    run = mb.edit(small_set, "identity", tmp_path / "run")
    mb.score(run, "ssim", without=[one.code])
    scored = set(run.frame().drop_nulls("value")["case"])
    assert scored == {case.id for case in small_set} - set(one.cases)
    mb.score(run, "ssim")
    assert run.frame()["value"].null_count() == 0


def test_the_audit_is_part_of_the_page(runs: list[mb.Run], report: Path) -> None:
    page = report.read_text()
    rows = list(csv.DictReader((report.parent / "audit.csv").read_text().splitlines()))
    audited = mb.check_cases(runs[0].cases)
    assert {row["finding"]: int(row["cases"]) for row in rows} == {
        one.code: len(one.cases) for one in audited.findings
    }
    assert all(row["label"] in page.replace("&#39;", "'") for row in rows)
