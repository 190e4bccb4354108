"""Reports on sets of several kinds of work: open targets, unread answers, chance, failures."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest

import medebench as mb
from medebench.analysis.failure_cost import AS_END, count_failures
from medebench.page.score_columns import describe
from medebench.reporting.answers_read import answers_read, answers_table
from medebench.reporting.collect import collect
from medebench.reporting.format_tables import counts_table, format_tables
from medebench.reporting.headline_table import make_table
from medebench.reporting.paper_tables import graded_to_10, paper_tables
from medebench.reporting.score_agreement import Means, agreement_table
from medebench.reporting.statistics import compute
from medebench.reporting.verdict import make_verdicts
from medebench.tasks.medgen_tasks import MEDGEN_TASKS
from tests.reporting import mixed_runs
from tests.reporting.mixed_runs import EACH, make_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_runs(tmp_path_factory.mktemp("mixed"))


@pytest.fixture(scope="module")
def material(runs):
    return collect(runs)


@pytest.fixture(scope="module")
def statistics(material):
    return compute(material)


def test_likeness_to_open_targets_has_a_name_of_its_own_and_ranks_nobody(material, statistics):
    tasks = material.frame.filter(pl.col("metric") == "ssim")["group"].unique()
    assert sorted(tasks) == ["artifact-removal", "noise-reconstruction", "resolution-editing"]
    described = material.score("ssim_described")
    assert described.described and not described.ranked
    assert len(material.frame.filter(pl.col("metric") == "ssim_described")["group"].unique()) == 9
    assert "ssim_described" not in {metric for _, _, metric in statistics.pairs}
    assert "ssim" in {metric for _, _, metric in statistics.pairs}
    every = make_table(material, statistics, headline="ssim", scores=material.scores)
    for row in every.rows:
        for (_, name), cell in row.cells.items():
            assert not (name.endswith("_described") and (cell.best("macro") or cell.mark))


def test_a_run_that_gives_only_texts_makes_no_case_incomparable(material):
    assert material.same_cases and material.basis == "asked"
    assert {entry.name: len(entry.cases) for entry in material.entries} == {
        "good": 64,
        "weak": 64,
        "identity": 48,
        "most-frequent": 16,
    }


def test_means_are_over_tasks_and_failures_count_at_the_bad_end(material, statistics):
    one = statistics.overall["own", "weak", "toy_key_accuracy"]
    by_task = [
        summary.micro.value
        for (basis, run, metric, _), summary in statistics.finer["task"].items()
        if (basis, run, metric) == ("own", "weak", "toy_key_accuracy")
    ]
    assert len(by_task) == 7  # question answering and the six of generation
    assert one.macro.value == pytest.approx(sum(by_task) / 7)
    asked = statistics.overall["asked", "weak", "toy_key_accuracy"]
    assert asked.charged == 7
    # A failed answer gets 0 whatever the other runs have got on the case.
    assert asked.micro.value == pytest.approx(one.micro.value * one.scored / (one.scored + 7))
    assert set(material.cost_rules) == {"nothing", "end"}


def test_failures_of_texts_get_the_bad_end_of_their_scale():
    row = {"control": False, "k": 0, "case": "1", "editor": "e", "metric": "omitted"}
    lost = {"run": "b", "value": None, "reason": "no output: no", "kind": "no-output"}
    frame = pl.DataFrame(
        [row | {"run": "a", "value": 0.2, "reason": None, "kind": None}, row | lost]
    )
    found = count_failures(frame, {"omitted": "lower"}, {"omitted": 1.0})
    assert found.select("value", "charged").rows() == [(0.2, None), (1.0, AS_END)]
    # Also where no other run has a value.
    alone = count_failures(frame[1:], {"omitted": "lower"}, {"omitted": 1.0})
    assert alone["value"].to_list() == [1.0]
    assert count_failures(frame[1:], {"omitted": "lower"})["value"].to_list() == [None]


def test_rates_of_judges_are_of_those_who_grade_to_10():
    ends = ("medgen-clinical-10", "medgen-generic-no-reference", "medgen-clinical", "their.py:R")
    names = [f"overall_openai:gpt-4o+{end}" for end in (*ends, "medgen-errors")]
    scores = describe([*names, "errors_openai:gpt-4o+medgen-errors", "ssim"], {})
    assert set(graded_to_10(scores)) == set(names[:2])


def test_a_scale_without_an_end_has_no_worst():
    ends = {one.name: one.worst for one in describe(["bertscore_rescaled", "cider", "ssim"], {})}
    assert ends == {"bertscore_rescaled": None, "cider": 0.0, "ssim": None}


def test_what_could_not_be_read_is_not_called_wrong(material, statistics):
    [choices] = [one for one in answers_read(material) if one.score.name == "toy_choice_accuracy"]
    told = {one.entry.name: one for one in choices.tallies}
    assert {name: (t.right, t.wrong, dict(t.unread), t.failed) for name, t in told.items()} == {
        "good": (3, 1, {}, 0),
        "weak": (1, 0, {"several": 2}, 1),
        "most-frequent": (1, 3, {}, 0),
    }
    assert all(one.asked == EACH for one in told.values())
    assert choices.level == 0.25
    # Four questions are too few to be better than guessing, however many are right.
    assert not choices.against["good"].significant()
    assert choices.against["good"].difference == pytest.approx(0.5)
    table = answers_table(material, statistics)
    weak = next(row for row in table.groups[0].rows if row.name == "weak")
    assert weak.cells[2].ends == "2 with several options" and weak.cells[3].text == "1"


def test_every_format_has_a_table_over_its_own_tasks(material, statistics):
    tables = {one.name: one for one in format_tables(material, statistics, "toy_choice_accuracy")}
    assert list(tables) == ["vqa", "editing", "generation"]
    assert sum(len(one.tasks) for one in tables.values()) == len(MEDGEN_TASKS)
    assert [c.head for c in tables["editing"].table.columns] == [
        *("Run", "SSIM", "PSNR (dB)", "SSIM, described", "PSNR (dB), described")
    ]
    assert tables["generation"].described and not tables["vqa"].described
    assert [row.name for row in tables["vqa"].table.groups[1].rows] == ["most-frequent", "chance"]
    [weak] = [row for row in tables["vqa"].table.groups[0].rows if row.name == "weak"]
    assert weak.cells[0].text == "0.333" and weak.cells[0].part == "0.250 with 1 failed; 3 of 4"


def test_scored_failed_undefined_and_not_applicable_are_counted_apart(material):
    rows = {row.name: row for row in counts_table(material).rows}
    names = [entry.name for entry in material.entries]
    weak = rows["choice accuracy"].cells[names.index("weak")]
    assert (weak.text, weak.ends) == ("3", "1 failed, 60 not applicable")
    good = rows["PSNR (dB)"].cells[names.index("good")]
    assert (good.text, good.ends) == ("3", "9 undefined, 16 not applicable")


def test_scores_that_order_systems_alike():
    up = Means("up", {"a": 1, "b": 2, "c": 3, "d": 4})
    cost = Means("cost", {"a": 9, "b": 7, "c": 5, "d": 3}, lower=True)
    other = Means("other", {"a": 4, "b": 3, "c": 2, "d": 1})
    few = Means("few", {"a": 1, "b": 2, "c": 3})
    table = agreement_table([up, cost, other, few], "alike")
    cells = {row.name: [cell.text for cell in row.cells] for row in table.rows}
    assert cells == {"cost": ["1.00", ""], "other": ["−1.00", "−1.00"]}
    assert agreement_table([up, few], "alike") is None


def test_the_page_has_all_of_it(runs, tmp_path):
    made = mb.report(runs, tmp_path / "report", audit=False)
    html = made.index.read_text()
    for name in ("answers", "formats", "groups", "verdict"):
        assert '<section class="wide' in html and f'id="{name}"' in html
    formats = list(csv.DictReader(io.StringIO((tmp_path / "report/formats.csv").read_text())))
    assert {row["format"] for row in formats} == {"vqa", "editing", "generation"}
    assert {row["over"] for row in formats} == {"tasks"}
    assert {*formats[0]} >= {"format", "mean", "low", "high", "scored", "total"}
    assert "task" not in formats[0]


def test_the_verdict_asks_for_more_than_guessing_and_every_control(material, statistics):
    verdicts = make_verdicts(material, statistics, "toy_choice_accuracy")
    told = {v.entry.name: {a.question: a for a in v.answers} for v in verdicts.models}
    # Three of four are right, and that is not more than guessing can do.
    assert told["good"]["choice accuracy"].mark == "unknown"
    assert "not surely above" in told["good"]["choice accuracy"].words
    assert told["weak"]["key accuracy"].mark == "no"
    assert told["weak"]["SSIM"].words == "not surely above identity"
    assert "SSIM, described" not in verdicts.questions
    assert [v.trust.mark for v in verdicts.models] == ["unknown", "no"]
    assert "over" in verdicts.models[0].weakest


def test_a_failed_output_has_not_failed_in_scores_of_other_work(runs):
    @mb.metric("letters_said", "how many letters", high=1e6, of="text")
    def letters_said(case, text):
        return len(text)

    mb.score(runs, [letters_said])
    frame = collect(runs).frame.filter(pl.col("metric") == "letters_said")
    # One in four editing outputs of "weak" failed; nobody was asked for a text there.
    assert set(frame["format"]) == {"vqa", "generation"}
    assert frame.filter(pl.col("run") == "weak")["kind"].to_list().count("no-output") == 10


def test_what_is_not_a_systems_work_is_no_open_question(runs, tmp_path):
    drawn = mb.generate(f"{mixed_runs.HERE}:cases", "blur", tmp_path / "blurred")
    info = drawn.info.model_copy(update={"control": False})
    (drawn.path / "run.json").write_text(info.model_dump_json())
    drawn = mb.open_run(drawn.path)
    mb.score(drawn, "ssim")
    material = collect([*runs, drawn])
    verdicts = make_verdicts(material, compute(material), "toy_choice_accuracy")
    [own] = [one for one in verdicts.models if one.entry.name == "blurred"]
    told = {one.question: one for one in own.answers}
    assert not told["choice accuracy"].applies and told["choice accuracy"].words == "not its work"
    assert "choice accuracy" not in own.trust.numbers
    cells = next(row for row in verdicts.table().rows if row.name == "blurred").cells
    assert cells[2].text == "–"


def test_published_rules_that_fail_the_references_themselves_are_named(tmp_path):
    run = mb.generate("medgen-phantoms:count=16,seed=3", "reference", tmp_path / "reference")
    mb.score(run, "ssim_medgen,bleu_medgen")
    found = collect([run])
    notes = {one.name: one.notes[0] for one in paper_tables(found, compute(found)) if one.own}
    # BLEU gives a perfect answer of one word 0.178; SSIM of equal images is 1.
    assert "BLEU" in notes["vqa"] and "where 100.00 is the best" in notes["vqa"]
    assert notes["editing"] == ""


def test_a_comparison_leaves_open_targets_out_and_charges_texts_that_did_not_come(runs, tmp_path):
    good, weak, identity, _ = runs
    choice = next(name for name in weak.frame()["metric"].unique() if "choice" in name)
    found = mb.compare(good, weak, metrics=[choice, "ssim"])
    own = weak.frame().filter(pl.col("metric") == choice, pl.col("kind") != "not-applicable")
    rows = weak.frame().filter(pl.col("metric") == choice)
    asked = rows.filter(pl.col("kind").ne_missing("not-applicable"))
    [change] = [one for one in found.changes if one.score.name == choice]
    assert 0 < len(own) == asked["value"].null_count() and change.charged == len(own)
    # A text that did not come is as bad as a wrong one, not as good as that of the other run.
    assert change.run == pytest.approx(asked["value"].fill_null(0.0).mean())
    [likeness] = [one for one in found.changes if one.score.name == "ssim"]
    assert likeness.pair.n_cases == 3 * EACH
    assert any("open target" in note for note in found.notes)
    file = mb.save_baseline(good, tmp_path / "good.json")
    again = mb.compare(file, weak, metrics=["ssim"])
    assert again.changes[-1].run == likeness.run
    # Texts are not the work of the control: no test of them is corrected for.
    names = {one.score.name for one in mb.compare(weak, identity).changes}
    assert names == {"delivered", "ssim", "psnr"}
