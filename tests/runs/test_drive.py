"""One pass over the cases: every file is decoded once, every ledger opened once."""

from __future__ import annotations

import json
import os
import weakref
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError
from medebench.images import picture
from medebench.judge import find_judge
from medebench.runs.ledger import Ledger
from tests.conftest import write_set
from tests.models.server import FakeServer
from tests.runs.test_learned import Brightness, Distance, Grey

SIX = ("cp", "cp_published", "ssim", "psnr", "change_inside", "change_outside")


def answer(call):
    one = {"reason": "as wanted", "score": 7}
    return json.dumps({"differences": [], "editing_accuracy": one, "visual_quality": one})


@pytest.fixture(autouse=True)
def _own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-0123456789")


@pytest.fixture
def server():
    with FakeServer() as server:
        server.answer = answer
        yield server


def judge_at(server):
    return find_judge("openai:test", {"base_url": server.base_url("openai")})


@pytest.fixture
def runs(tmp_path):
    cases = mb.load_cases(write_set(tmp_path / "set", 5))
    return [mb.edit(cases, name, tmp_path / name) for name in ("identity", "blur", "noise")]


@pytest.fixture
def decoded(monkeypatch):
    """Files that went through images/picture, with how often."""
    count: Counter[str] = Counter()
    plain = picture._plain_png

    def counted(path, data):
        count[str(path)] += 1
        return plain(path, data)

    monkeypatch.setattr(picture, "_plain_png", counted)
    return count


@pytest.fixture
def opened(monkeypatch):
    """Ledgers that were opened, with how often."""
    count: Counter[str] = Counter()
    init = Ledger.__init__

    def counted(self, path, **options):
        count[path.parent.name] += 1
        init(self, path, **options)

    monkeypatch.setattr(Ledger, "__init__", counted)
    return count


def files_of(runs):
    cases = {path for run in runs for case in run.cases for path in case.files().values()}
    return {str(path) for path in cases} | {
        str(path) for run in runs for path in run.edits.iterdir()
    }


def test_every_file_is_decoded_once(runs, server, decoded, opened, real_weights, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(real_weights("lpips-alex.ckpt").parent))
    pytest.importorskip("torch")
    mb.score(runs, [*SIX, "lpips_alex", Distance(Grey())], judge_at(server))
    assert set(decoded) == files_of(runs) and set(decoded.values()) == {1}
    assert opened == dict.fromkeys(("identity", "blur", "noise"), 1)
    for run in runs:
        values = run.frame().group_by("metric").len().rows()
        assert dict(values) == dict.fromkeys(
            (*SIX, "lpips_alex", "ea_openai:test", "vq_openai:test"), 5
        )
        assert run.frame()["value"].null_count() == 0 and run.sets()["value"].null_count() == 0


def test_a_command_decodes_and_opens_once(runs, server, decoded, opened, real_weights, monkeypatch):
    """The same from the command line, which also prints what became of it."""
    pytest.importorskip("torch")
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(real_weights("lpips-alex.ckpt").parent))
    words = ["--metrics", ",".join((*SIX, "lpips_alex")), "--judge", "openai:test"]
    words += ["--base-url", server.base_url("openai")]
    paths = [str(run.path) for run in runs]
    result = CliRunner().invoke(app, ["score", *paths, *words])
    assert result.exit_code == 0, result.output
    assert opened == dict.fromkeys(("identity", "blur", "noise"), 1)
    assert set(decoded) == files_of(runs) and set(decoded.values()) == {1}
    assert len(server.calls) == 15


def test_a_second_time_nothing_is_decoded(runs, server, decoded):
    wanted = [*SIX, Brightness(), Distance(Grey())]
    mb.score(runs, wanted, judge_at(server))
    decoded.clear()
    mb.score(runs, wanted, judge_at(server))
    assert not decoded


def test_only_what_is_wanted_is_decoded(runs, decoded):
    mb.score(runs, SIX)
    runs[1].output_path("3", 0).write_bytes(runs[2].output_path("3", 0).read_bytes())
    decoded.clear()
    mb.score(runs, SIX)
    case = runs[0].cases["3"]
    needed = {case.previous, case.reference, case.roi, runs[1].output_path("3", 0)}
    assert decoded == dict.fromkeys(map(str, needed), 1)


def test_grounding_decodes_once(runs, decoded, opened):
    mb.ground(runs)
    assert set(decoded) == files_of(runs) and set(decoded.values()) == {1}
    assert set(opened.values()) == {1}


@pytest.mark.parametrize(
    "words",
    [
        ["score", "--metrics", "cp,psnr", "--judge", "offline", "--json"],
        ["ground", "--json"],
        ["report", "--out", "{}/page"],
        ["export", "--out", "{}/scores.csv"],
    ],
)
def test_a_command_opens_a_ledger_once(words, runs, opened, tmp_path):
    mb.score(runs, ["cp", Distance(Grey())], "offline")
    opened.clear()
    paths = [str(run.path) for run in runs]
    result = CliRunner().invoke(
        app, [words[0], *paths, *(one.format(tmp_path) for one in words[1:])]
    )
    assert result.exit_code == 0, result.output
    assert opened == dict.fromkeys(("identity", "blur", "noise"), 1)


def test_memory_does_not_grow_with_the_cases(tmp_path, server, monkeypatch):
    """Of 120 cases with three files each, few pictures are in memory at any time."""
    cases = mb.load_cases(write_set(tmp_path / "set", 120))
    run = mb.edit(cases, "blur", tmp_path / "run")
    alive, peak, plain = weakref.WeakValueDictionary(), [0], picture._plain_png

    def counted(path, data):
        found = plain(path, data)
        alive[str(path)] = found
        peak[0] = max(peak[0], len(alive))
        return found

    monkeypatch.setattr(picture, "_plain_png", counted)
    server.latency = 0.02
    mb.score(run, [*SIX, Brightness()], judge_at(server), workers=2)
    assert run.frame().height == 120 * 9
    assert 3 <= peak[0] <= 40


def test_the_judge_stops_and_the_metrics_do_not(runs, server, tmp_path, monkeypatch):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"models": {"openai:test": {"in": 9.0, "out": 9.0}}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(prices))
    from medebench.runs.stages.judge_scores import JudgeLimits, JudgeStoppedError

    with pytest.raises(JudgeStoppedError, match="15 of 15 outputs were not judged"):
        mb.score(runs, [*SIX, Distance(Grey())], judge_at(server), limits=JudgeLimits(1e-9))
    for run in runs:
        assert run.frame()["value"].null_count() == 0 and run.frame().height == 5 * len(SIX)
        assert run.sets()["value"].null_count() == 0


def test_progress_ends_with_all_and_never_goes_back(runs, server):
    told: list[tuple[int, int]] = []
    mb.score(runs, [*SIX, Brightness()], judge_at(server), progress=lambda *one: told.append(one))
    assert told[0] == (0, 5) and told[-1] == (5, 5)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


OWN = """
import os
from pathlib import Path

import numpy as np
import medebench as mb
from medebench.metrics import BatchMetric, Measured, MetricInfo
from tests.runs.test_learned import Distance, Grey

DISTANCE = Distance(Grey())
PLACE = Path(__file__).parent

class Half:
    summary, sees, control = 'half as bright', (), False
    Settings = mb.Settings

    def __init__(self, settings):
        pass

    def edit(self, request):
        (PLACE / f'edited in {os.getpid()}').touch()
        return request.case.previous // 2

@mb.metric('grey', 'mean grey', high=255.0)
def grey(case, output):
    (PLACE / f'measured in {os.getpid()}').touch()
    return float(output.mean())

class Kept:
    def __init__(self, mean):
        self.mean = mean

class Network(BatchMetric):
    info = MetricInfo('network', 'as if by one', 'neither', 0.0, 255.0)
    variant = 'one'

    def problem(self):
        return None

    def prepare(self, subject):
        return Kept(float(subject.output.mean()))

    def measure(self, prepared):
        (PLACE / f'batch in {os.getpid()}').touch()
        return [Measured(one.mean) for one in prepared]

NETWORK = Network()

class Judge:
    name, summary, stand_in, scores = 'own-1', 'own', True, ('ea_own',)

    def judge(self, case, output):
        return {'ea_own': mb.Verdict(float(output.mean()) / 255)}
"""


def rows_of(run):
    """All that a ledger holds, without the times."""
    with run.ledger() as ledger:
        scores = {(r.case_id, r.k, r.metric): _plain(r) for r in ledger.scores()}
        outputs = {key: _plain(row) for key, row in ledger.outputs().items()}
        return ledger.cases(), outputs, scores, [_plain(row) for row in ledger.sets()]


def _plain(row):
    return {name: value for name, value in vars(row).items() if name != "seconds"}


def test_processes_give_the_same_ledger_as_threads(tmp_path, server, real_weights, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(real_weights("lpips-alex.ckpt").parent))
    (tmp_path / "own.py").write_text(OWN)
    own, cases = f"{tmp_path / 'own.py'}:", write_set(tmp_path / "set", 5)
    (cases / "editing/previous/4.png").write_bytes(b"broken")
    made = {}
    for how in ("threads", "processes"):
        monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / f"cache of {how}"))
        run = mb.edit(cases, f"{own}Half", tmp_path / how, outputs=2, workers=2, executor=how)
        run.output_path("2", 1).write_bytes(b"no picture")
        names = [*SIX, f"{own}grey", f"{own}NETWORK", f"{own}DISTANCE", "lpips_alex"]
        mb.score(run, names, f"{own}Judge", workers=2, executor=how)
        mb.score(run, [], judge_at(server), workers=2, executor=how)
        mb.ground(run, workers=2, executor=how)
        made[how] = rows_of(run)
    assert made["threads"] == made["processes"]
    assert [row["part"] for row in made["threads"][3]] == ["", "Skin", "Teeth"]
    assert {"grey", "network", "lpips_alex", "ea_own", "ea_openai:test", "success"} <= {
        metric for _, _, metric in made["threads"][2]
    }
    seen = {path.name for path in tmp_path.iterdir()}
    here = f"in {os.getpid()}"
    for work in ("edited", "measured"):
        assert any(one.startswith(work) and not one.endswith(here) for one in seen)
    # A device has one owner, whatever the executor.
    assert [one for one in seen if one.startswith("batch")] == [f"batch {here}"]


def test_objects_stay_in_threads(runs, tmp_path):
    with pytest.raises(InputError, match="'brightness' was given as an object"):
        mb.score(runs, [Brightness()], executor="processes")
    from medebench.systems import find_system

    with pytest.raises(InputError, match="'blur' was given as an object"):
        mb.edit(runs[0].cases, find_system("blur"), tmp_path / "new", executor="processes")
    assert not (tmp_path / "new").exists()
    assert np.all([run.frame().is_empty() for run in runs])


def test_an_editor_with_a_device_stays_in_threads(runs, tmp_path):
    (tmp_path / "own.py").write_text(
        OWN.replace("    def edit(", "    batch, edit_batch = 2, list\n    def edit(", 1)
    )
    with pytest.raises(InputError, match="editor 'Half' owns a device; use executor 'threads'"):
        mb.edit(runs[0].cases, f"{tmp_path}/own.py:Half", tmp_path / "new", executor="processes")
    assert not (tmp_path / "new").exists()


def test_the_command_line_scores_in_processes(runs):
    words = ["score", str(runs[2].path), "--metrics", "cp", "--executor", "processes"]
    result = CliRunner().invoke(app, [*words, "--judge", "offline"])
    assert result.exit_code == 0, result.output
    assert "cp" in set(runs[2].frame()["metric"]) and runs[2].frame().height >= 10
    assert runs[2].frame()["value"].null_count() == 0
