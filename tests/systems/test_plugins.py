"""A user's own editor, metric and judge: from a file, and by entry point from a real package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap

import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.settings import split_name, split_own
from medebench.systems import find_system
from tests.conftest import REPOSITORY

OWN = """
import numpy as np
import medebench as mb

class Invert:
    summary = "turns black into white"
    sees = ()
    control = False

    class Settings(mb.Settings):
        strength: float = 1.0

    def __init__(self, settings):
        self.settings = settings

    def edit(self, request):
        if request.case.case.id == "2":
            raise mb.Refused("I do not do teeth")
        if request.case.case.id == "3":
            raise ZeroDivisionError("oh dear")
        if request.case.case.id == "4":
            return np.zeros((5, 5), np.float32)
        picture = request.case.previous
        weight = self.settings.strength
        inverted = picture * (1 - weight) + (255 - picture) * weight
        return mb.Edit(inverted.astype(np.uint8), {"strength": self.settings.strength})

@mb.metric("darkness", "share of black", better="lower")
def darkness(case, output):
    if case.case.id == "1":
        return float("nan")
    return float((output == 0).mean())

class Coin:
    name, summary, stand_in, scores = "coin-1", "tosses a coin", True, ("ea_coin",)

    def judge(self, case, output):
        return {"ea_coin": mb.Verdict(0.5, detail={"why": "heads"})}

not_a_metric = 3
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(textwrap.dedent(OWN))
    return path


def test_own_editor_metric_and_judge_from_a_file(own, small_set, tmp_path):
    run = mb.edit(small_set, f"{own}:Invert:strength=0.5", out=tmp_path / "run")
    assert run.info.editor == "Invert" and run.info.settings == {"strength": 0.5}
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert outputs["1", 0].detail == {"strength": 0.5}
    assert outputs["2", 0].reason == "I do not do teeth"
    assert outputs["3", 0].reason == "ZeroDivisionError: oh dear"
    assert "float32" in outputs["4", 0].reason
    mb.score(run, [f"{own}:darkness"], f"{own}:Coin")
    rows = {(r["case"], r["metric"]): r for r in run.frame().iter_rows(named=True)}
    assert rows["1", "darkness"]["value"] is None
    assert rows["1", "darkness"]["reason"] == "failed: the metric returned nan, outside 0 to 1"
    assert rows["1", "ea_coin"]["value"] == 0.5
    assert rows["2", "ea_coin"]["reason"] == "no output: I do not do teeth"


def test_mistakes_in_own_files_are_named(own, small_set, tmp_path):
    with pytest.raises(InputError, match="has no 'Nothing'"):
        mb.edit(small_set, f"{own}:Nothing", out=tmp_path / "run")
    with pytest.raises(InputError, match="has neither generate"):
        mb.edit(small_set, f"{own}:Coin", out=tmp_path / "run")
    broken = tmp_path / "broken.py"
    broken.write_text("def (")
    with pytest.raises(InputError, match=r"broken\.py: SyntaxError"):
        mb.edit(small_set, f"{broken}:X", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_entry_points_of_an_installed_package(own, tmp_path):
    """A distribution on the path is found without being named anywhere."""
    site = tmp_path / "site"
    info = site / "plug-1.dist-info"
    info.mkdir(parents=True)
    (site / "plug.py").write_text(own.read_text())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[medebench.editors]\ninvert = plug:Invert\n[medebench.systems]\nturn = plug:Invert\n"
        "[medebench.metrics]\ndarkness = plug:darkness\n"
        "[medebench.judges]\ncoin = plug:Coin\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import sys; sys.argv = ['medebench', sys.argv[1], '--json']\n"
        "from medebench.cli import main; main()"
    )
    found = [("editors", "invert"), ("editors", "turn"), ("systems", "invert"), ("systems", "turn")]
    for command, name in [*found, ("metrics", "darkness"), ("judges", "coin")]:
        done = subprocess.run(
            [sys.executable, "-c", code, command], capture_output=True, text=True, check=True
        )
        assert name in [next(iter(row.values())) for row in json.loads(done.stdout)]


def test_the_model_of_the_documentation_runs(small_set, tmp_path):
    """A batch editor with weights of its own, as docs/extending.md has it."""
    text = (REPOSITORY / "docs" / "extending.md").read_text("utf-8")
    (code,) = [c for c in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Model" in c]
    loader = "\n\ndef load(path):\n    return lambda items: [picture for picture, _, _ in items]\n"
    (tmp_path / "mine.py").write_text(code + loader)
    call = f"{tmp_path / 'mine.py'}:Model:{tmp_path / 'weights.pt'}"
    with pytest.raises(InputError, match=r"editor 'Model': .*weights\.pt: no such file; get it"):
        mb.edit(small_set, call, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "weights.pt").write_text("x")
    run = mb.edit(small_set, call, out=tmp_path / "run")
    assert "weights.pt" in run.info.origin and run.info.how == {"batch": 4}
    mb.edit(small_set, f"{call},batch=2", out=tmp_path / "run")
    with run.ledger() as ledger:
        assert {row.reason for row in ledger.outputs().values()} == {None}


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        ("blur", ("blur", "")),
        ("blur:sigma=2", ("blur", "sigma=2")),
        ("mine.py:Own", ("mine.py:Own", "")),
        ("a/mine.py:Own:size=2", ("a/mine.py:Own", "size=2")),
        (r"C:\a\mine.py:Own:size=2", (r"C:\a\mine.py:Own", "size=2")),
        ("refine:judge=mine.py:J,blur", ("refine", "judge=mine.py:J,blur")),
        ("refine:mine.py:Own", ("refine", "mine.py:Own")),
    ],
)
def test_a_name_ends_where_its_settings_begin(call, parts):
    assert split_name(call) == parts


@pytest.mark.parametrize(
    ("text", "own", "rest"),
    [
        ("rounds=2,blur:sigma=4", {"rounds": "2"}, "blur:sigma=4"),
        ("blur:sigma=4,rounds=2", {}, "blur:sigma=4,rounds=2"),
        ("python w.py --rounds=2,3", {}, "python w.py --rounds=2,3"),
        ("rounds=2", {"rounds": "2"}, ""),
        ("", {}, ""),
    ],
)
def test_own_settings_come_first_and_the_rest_stays_whole(text, own, rest):
    assert split_own(text, {"rounds"}) == (own, rest)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("gemini", "editor 'gemini': name a model, such as gemini:"),
        ("http", "editor 'http': name a url, such as http:"),
        ("diffusers", "editor 'diffusers': name a model, such as diffusers:"),
        ("http:http://127.0.0.1:9/edit,timeout=3", "'http': settings come first; move timeout=…"),
        ("command:python w.py,timeout=3", "'command': settings come first; move timeout=…"),
        ("refine:blur,rounds=1", "(settings of 'refine', as rounds=…, come first)"),
        ("blur:sigma=1,sigma=2", "sigma is given twice"),
        ("phantom-editor:steps", "steps needs a value, as in steps=…"),
        ("blur:sigma=much", "unable to parse string as a number; found 'much'"),
    ],
)
def test_wrong_calls_say_what_to_write(call, words):
    with pytest.raises(InputError, match=re.escape(words)):
        find_system(call)
