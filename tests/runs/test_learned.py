"""Metrics with a network in the pipeline: batches, reasons, variants, scores of sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.encoders.encoder import Encoder
from medebench.errors import NotReadyError
from medebench.metrics import BatchMetric, Measured, MetricInfo, SetMetric, SetScore, Undefined
from medebench.reporting.collect import collect
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import STALE_SET, WHOLE
from medebench.runs.stages import network_scores


class Brightness(BatchMetric):
    """The mean of output and prompt's length: easily checked, and it counts its calls."""

    def __init__(self, variant: str = "one", broken: float = -1.0) -> None:
        self.info = MetricInfo("brightness", "mean grey", "neither", 0.0, 255.0, ("prompt",))
        self.variant = variant
        self.broken = broken
        self.batches: list[int] = []
        self.closed = 0

    def problem(self) -> str | None:
        return None

    def prepare(self, subject: Any) -> float:
        mean = float(subject.output.mean())
        if subject.case.case.id == "2":
            raise Undefined("the second case has none")
        return mean

    def measure(self, prepared: Sequence[float]) -> list[Measured | Undefined]:
        self.batches.append(len(prepared))
        if any(one == self.broken for one in prepared):
            raise RuntimeError("no room")
        return [Measured(one, {"seen": True}) for one in prepared]

    def close(self) -> None:
        self.closed += 1


class Grey(Encoder):
    """Three numbers of a picture; real enough for everything around it."""

    name = "grey"
    batch = 4

    def __init__(self) -> None:
        self.encoded: list[int] = []

    def problem(self) -> str | None:
        return None

    @property
    def identity(self) -> str:
        return "grey 1"

    def prepare(self, picture: Any, data_range: int) -> Any:
        return picture.reshape(-1, 3).mean(axis=0) / data_range

    def encode(self, prepared: Sequence[Any]) -> Any:
        self.encoded.append(len(prepared))
        return np.stack(prepared).astype(np.float32)


class Distance(SetMetric):
    def __init__(self, encoder: Encoder, least: int = 2) -> None:
        self.info = MetricInfo("distance_grey", "of the means", "lower", 0.0, 10.0, ())
        self.encoder = encoder
        self.variant = encoder.identity
        self.least = least
        self.groups: list[list[int]] = []

    def measure(
        self, outputs: Any, references: Any, groups: Any, reference_groups: Any
    ) -> SetScore:
        self.groups.append([*groups, -1, *reference_groups])
        value = float(np.linalg.norm(outputs.mean(axis=0) - references.mean(axis=0)))
        return SetScore(value, None, (value / 2, value * 2), {"floor": 0.1})


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def run(make_set, tmp_path):
    return mb.edit(mb.load_cases(make_set(6)), "identity", tmp_path / "run")


def scores(run, name="brightness"):
    with run.ledger() as ledger:
        return {row.case_id: row for row in ledger.scores() if row.metric == name}


def test_values_are_those_of_each_output(run, monkeypatch):
    monkeypatch.setattr(network_scores, "TOGETHER", 2)
    metric = Brightness()
    mb.score(run, [metric])
    found = scores(run)
    for case_id, row in found.items():
        if case_id == "2":
            assert row.value is None and row.reason == "the second case has none"
            continue
        picture = np.asarray(Image.open(run.output_path(case_id, 0)))
        assert row.value == pytest.approx(picture.mean())
        told = {"summary": "mean grey", "better": "neither", "low": 0.0, "high": 255.0}
        told |= {"needs": ["prompt"]}
        assert row.detail == {"seen": True, "variant": "one", "metric": told}
    assert sum(metric.batches) == 5 and max(metric.batches) >= 2 and metric.closed == 1


def test_a_second_time_nothing_is_measured(run):
    mb.score(run, [Brightness()])
    again = Brightness()
    mb.score(run, [again])
    assert again.batches == []


def test_other_weights_are_another_score(run):
    mb.score(run, [Brightness("one")])
    other = Brightness("two")
    mb.score(run, [other])
    assert sum(other.batches) == 5
    assert {row.detail["variant"] for row in scores(run).values()} == {"two"}


def test_an_output_that_breaks_the_metric_takes_no_other_along(run):
    bad = float(np.asarray(Image.open(run.output_path("4", 0))).mean())
    mb.score(run, [Brightness(broken=bad)])
    found = scores(run)
    assert found["4"].reason == "failed: the metric raised RuntimeError: no room"
    assert sum(row.value is not None for row in found.values()) == 4


def test_an_impossible_value_is_a_reason(run):
    metric = Brightness()
    metric.info = MetricInfo("brightness", "mean grey", "neither", 0.0, 1.0, ())
    mb.score(run, [metric])
    assert scores(run)["1"].reason.startswith("failed: the metric returned ")


def test_weights_that_cannot_be_read_end_the_scoring_and_lose_nothing(run):
    class Damaged(Brightness):
        def measure(self, prepared):
            raise NotReadyError("weights.bin: is damaged")

    with pytest.raises(NotReadyError, match="is damaged"):
        mb.score(run, ["cp", Damaged()])
    assert len(scores(run, "cp")) == 6 and not any(r.value for r in scores(run).values())


def test_a_set_has_a_score_for_the_run_and_each_organ(run):
    metric = Distance(Grey())
    mb.score(run, [metric])
    with run.ledger() as ledger:
        rows = {row.part: row for row in ledger.sets()}
        assert ledger.outputs_digest() == rows[WHOLE].outputs
    assert set(rows) == {WHOLE, "Skin", "Teeth"}
    assert (rows[WHOLE].n, rows[WHOLE].n_references, rows["Skin"].n) == (6, 6, 3)
    assert rows[WHOLE].interval == pytest.approx((rows[WHOLE].value / 2, rows[WHOLE].value * 2))
    assert rows[WHOLE].detail == {"floor": 0.1}
    frame = run.sets().filter(part="Skin")
    assert frame.select("n", "value", "reason").row(0) == (3, rows["Skin"].value, None)
    assert frame["low"][0] == rows["Skin"].value / 2
    outputs, references = [], []
    for case in run.cases:
        outputs.append(np.asarray(Image.open(case.previous)).reshape(-1, 3).mean(axis=0) / 255)
        references.append(np.asarray(Image.open(case.reference)).reshape(-1, 3).mean(axis=0) / 255)
    by_hand = np.linalg.norm(np.mean(outputs, axis=0) - np.mean(references, axis=0))
    assert rows[WHOLE].value == pytest.approx(by_hand, abs=1e-6)


def test_sets_are_scored_again_only_when_an_output_changed(run):
    mb.score(run, [Distance(Grey())])
    again = Distance(Grey())
    mb.score(run, [again])
    assert again.groups == [] and again.encoder.encoded == []
    Image.fromarray(np.full((48, 64, 3), 9, np.uint8)).save(run.output_path("3", 0))
    mb.score(run, ["cp"])
    assert run.sets()["reason"].to_list() == [STALE_SET] * 3 and run.sets()["value"].is_null().all()
    mb.score(run, [again])
    assert len(again.groups) == 3 and sum(again.encoder.encoded) == 1


def test_a_set_that_is_too_small_has_a_reason(run):
    mb.score(run, [Distance(Grey(), least=4)])
    with run.ledger() as ledger:
        rows = {row.part: row for row in ledger.sets()}
    assert rows[WHOLE].value is not None
    assert rows["Teeth"].reason == "too few: 3 outputs beside a reference, 4 are needed"


def test_cases_of_one_source_are_one_group(make_set, tmp_path):
    folder = make_set(4)
    pictures = folder / "editing" / "previous"
    (pictures / "2.png").write_bytes((pictures / "1.png").read_bytes())
    run = mb.edit(mb.load_cases(folder), "identity", tmp_path / "run")
    metric = Distance(Grey())
    mb.score(run, [metric])
    first = metric.groups[0]
    assert first[0] == first[1] and len(set(first[:4])) == 3 and first[:4] == first[5:]


def test_runs_share_what_was_extracted(make_set, tmp_path):
    cases = mb.load_cases(make_set(4))
    runs = [mb.edit(cases, name, tmp_path / name) for name in ("identity", "reference")]
    metric = Distance(Grey())
    mb.score(runs, [metric])
    # Four inputs and four references; the outputs are the same pictures.
    assert sum(metric.encoder.encoded) == 8
    with runs[1].ledger() as ledger:
        assert ledger.sets()[0].value == pytest.approx(0, abs=1e-7)


def test_cases_without_an_organ_are_in_the_whole_only(make_set, tmp_path):
    folder = make_set(4)
    file = folder / "editing" / "editing_metadata.json"
    told = json.loads(file.read_text())
    del told["samples"][0]["Organ"]
    file.write_text(json.dumps(told))
    run = mb.edit(mb.load_cases(folder), "identity", tmp_path / "run")
    mb.score(run, [Distance(Grey(), least=1)])
    found = run.sets().select("part", "n").rows()
    assert found == [(WHOLE, 4), ("Skin", 1), ("Teeth", 2)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [(0.5, None), (None, "failed: the metric returned a NoneType"), ("x", "failed: the metric ")],
)
def test_what_a_users_metric_may_return(given, reason, run):
    class Loose(Brightness):
        def measure(self, prepared):
            return [given for _ in prepared]

    mb.score(run, [Loose()])
    row = scores(run)["1"]
    assert row.value == (given if reason is None else None)
    assert reason is None or row.reason.startswith(reason)


def test_the_report_keeps_what_a_users_metric_says_of_itself(run):
    metric = Brightness()
    metric.info = MetricInfo("brightness", "mean grey", "lower", 0.0, 255.0)

    @mb.metric("darkness", "how dark", better="higher", high=255.0)
    def dark(case, output):
        return float(255 - output.mean())

    mb.score(run, [metric, dark])
    found = {score.name: score for score in collect([run]).scores}
    assert (found["brightness"].better, found["brightness"].summary) == ("lower", "mean grey")
    assert (found["darkness"].better, found["darkness"].high) == ("higher", 255.0)


def whole(run):
    (row,) = run.sets().filter(part=WHOLE).iter_rows(named=True)
    return row


def test_a_replaced_or_lost_file_is_noticed_when_only_sets_are_scored(run):
    mb.score(run, [Distance(Grey())])
    before = whole(run)["value"]
    Image.fromarray(np.full((48, 64, 3), 9, np.uint8)).save(run.output_path("3", 0))
    mb.score(run, [Distance(Grey())])
    assert whole(run)["value"] != before and whole(run)["n"] == 6
    run.output_path("3", 0).unlink()
    mb.score(run, [Distance(Grey())])
    assert whole(run)["n"] == 5
    with run.ledger() as ledger:
        detail = next(row.detail for row in ledger.sets() if row.part == WHOLE)
    assert detail["missing"] == 1 and detail["left_out"] == {"the output file is missing": 1}
    again = Distance(Grey())
    mb.score(run, [again])
    assert again.groups == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (SetScore(float("nan")), "failed: the metric returned nan"),
        (SetScore(-5.0), "failed: the metric returned -5, outside 0 to 10"),
        (SetScore(None), "the metric gave no reason"),
    ],
)
def test_a_set_metric_cannot_write_nonsense(given, reason, run):
    class Wrong(Distance):
        def measure(self, *sets):
            return given

    failures = Failures()
    mb.score(run, [Wrong(Grey())], failures=failures)
    assert whole(run)["value"] is None and whole(run)["reason"].startswith(reason)
    # The run and two organs; a value that is undefined is no failure.
    assert failures.total() == (3 if reason.startswith("failed") else 0)


@pytest.mark.parametrize("place", ["prepare", "encode"])
def test_a_picture_that_breaks_the_encoder_takes_no_other_along(place, run):
    bad = np.asarray(Image.open(run.output_path("4", 0))).reshape(-1, 3).mean(axis=0) / 255

    class Choosy(Grey):
        identity = f"choosy {place}"

        def prepare(self, picture, data_range):
            seen = super().prepare(picture, data_range)
            if place == "prepare" and np.array_equal(seen, bad):
                raise ValueError("cannot see this")
            return seen

        def encode(self, prepared):
            if any(np.array_equal(one, bad) for one in prepared):
                raise RuntimeError("no room")
            return super().encode(prepared)

    failures = Failures()
    mb.score(run, [Distance(Choosy())], failures=failures)
    assert whole(run)["n"] == 5 and whole(run)["value"] is not None
    assert failures.total() == 1 and "the encoder raised" in failures.in_words("metric")


def test_rows_are_written_metric_by_metric(run):
    class Stop(Brightness):
        def measure(self, prepared):
            raise KeyboardInterrupt

    second = Stop()
    second.info = MetricInfo("second", "never there", "neither", 0.0, 1.0)
    with pytest.raises(KeyboardInterrupt):
        mb.score(run, [Brightness(), second])
    assert len([row for row in scores(run).values() if row.value is not None]) == 5
