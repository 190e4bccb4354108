"""`medebench editors`: what is there, whether it is ready, what can be set."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from medebench import device
from medebench.settings import split_name
from medebench.systems import SYSTEMS, Editor, find_system, system_class
from tests.cli.test_cli import call
from tests.conftest import REPOSITORY

#: The package's own systems that edit images.
EDITORS = [one for one in SYSTEMS.own_names() if issubclass(system_class(one), Editor)]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))


def listed():
    done = call("editors", "--json")
    assert done.exit_code == 0
    return {row["editor"]: row for row in json.loads(done.stdout)}


def test_machines_are_told_what_is_ready():
    rows = listed()
    assert list(rows)[: len(EDITORS)] == EDITORS
    assert rows["identity"]["ready"] and rows["identity"]["problems"] == []
    assert rows["blur"]["settings"] == {"sigma": 4.0}
    for row in rows.values():
        assert row["ready"] == (not row["problems"])
        assert set(row["settings"]) == set(row["described"]) == set(row["values"])
        assert all(row["described"].values()), row["editor"]


def test_models_without_weights_are_not_ready():
    pytest.importorskip("diffusers")
    rows = listed()
    assert "weights get timbrooks/instruct-pix2pix" in rows["instruct-pix2pix"]["problems"][0]
    for name in ("diffusers", "instruct-diffusion"):
        assert not rows[name]["ready"]
        assert rows[name]["settings"]["model"] is None and rows[name]["required"] == ["model"]
    assert "FLUX.1-Kontext-dev: its weights are not" in rows["diffusers"]["problems"][0]
    assert "checkpoint.ckpt: no such" in rows["instruct-diffusion"]["problems"][0]


def test_people_see_a_table_that_can_be_read():
    lines = call("editors").stdout.splitlines()
    assert "ready here" in lines[1]
    (pix2pix,) = [line for line in lines if line.split()[:1] == ["instruct-pix2pix"]]
    assert "GPU" in pix2pix and "no: timbrooks/instruct-pix2pix: its weights are not" in pix2pix
    (blur,) = [line for line in lines if line.split()[:1] == ["blur"]]
    assert blur.split()[-1] == "yes" and max(map(len, lines)) < 320
    (http,) = [line for line in lines if line.split()[:1] == ["http"]]
    assert http.rstrip().endswith("yes; name a url")


def test_keys_that_are_missing_are_named(monkeypatch):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = listed()
    assert "GEMINI_API_KEY" in rows["gemini"]["problems"][0]
    assert "OPENAI_API_KEY" in rows["openai-image"]["problems"][0]
    assert any("OPENAI_API_KEY" in one for one in rows["composed"]["problems"])


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    (problem,) = listed()["instruct-pix2pix"]["problems"]
    assert problem.startswith("needs torch 2.4 or later, diffusers 0.36 or later, transformers 5.0")
    assert problem.endswith("install with: pip install 'medebench[diffusion]'")


def test_a_release_that_is_too_old_is_told(monkeypatch):
    monkeypatch.setattr(device.metadata, "version", lambda name: "0.35.2")
    (problem,) = listed()["instruct-pix2pix"]["problems"]
    assert "diffusers 0.36 or later" in problem


@pytest.mark.parametrize("name", EDITORS)
def test_one_editor_in_full_with_a_call_to_copy(name):
    done = call("editors", name)
    assert done.exit_code == 0 and done.stdout.startswith(f"{name} (")
    for setting in listed()[name]["settings"]:
        assert f" {setting} " in done.stdout
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[:2] == ["medebench", "edit"]
    find_system(words[words.index("--editor") + 1])
    assert json.loads(call("editors", name, "--json").stdout)["editor"] == name


@pytest.mark.parametrize(
    "name",
    [
        *("openai", "anthropic", "transformers", "command", "composed"),
        *("empty-text", "phantom-answerer", "paired"),
    ],
)
def test_systems_that_answer_are_listed_with_a_call_to_copy(name):
    rows = {row["system"]: row for row in json.loads(call("systems", "--json").stdout)}
    assert "text" in rows[name]["gives"] and all(rows[name]["described"].values())
    done = call("systems", name)
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[:3] == ["medebench", "generate", "CASES"]
    find_system(words[words.index("--system") + 1])


def test_limits_are_said_in_words():
    values = listed()["instruct-pix2pix"]["values"]
    assert values["steps"] == "1 to 1000" and values["guidance"] == "0 or more"
    assert values["device"] == "auto | cuda | mps | cpu" and values["slicing"] == "true | false"


def test_an_unknown_editor_is_one_line():
    done = call("editors", "instruct-pix")
    assert done.exit_code == 2 and "did you mean 'instruct-pix2pix'?" in done.stderr


OWN = """
import medebench as mb

class Silent:
    def __init__(self, settings):
        raise AssertionError("made only to be listed")
    def edit(self, request):
        return request.case.previous

class Honest(Silent):
    class Settings(mb.Settings):
        path: str = "nowhere"
    def __init__(self, settings):
        self.settings = settings
    def problems(self):
        return [f"{self.settings.path}: no such file; copy it there"]

class Broken(Silent):
    def problems(self):
        return []
"""


def test_own_editors_are_asked_only_if_they_can_tell(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    for name, ready, words in (
        ("Silent", True, "ready here: yes"),
        ("Honest", False, "ready here: no, nowhere: no such file; copy it there"),
        ("Broken", False, "ready here: no, editor"),
    ):
        done = call("editors", f"{path}:{name}")
        assert done.exit_code == 0 and words in done.stdout
        found = json.loads(call("editors", f"{path}:{name}", "--json").stdout)
        assert found["ready"] is ready


def test_listing_does_not_load_torch():
    code = (
        "import sys; sys.argv = ['medebench', 'editors', '--json']\n"
        "from medebench.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"


def test_the_documentation_has_every_setting_of_the_family():
    whole = (REPOSITORY / "docs" / "editors.md").read_text("utf-8")
    text = whole.partition("## Settings of the diffusion models")[2]
    facts = listed()
    for name, described in facts["diffusers"]["described"].items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        default = facts["diffusers"]["settings"][name]
        shown = {"": "empty", None: "`none`"}.get(default, f"`{str(default).lower()}`")
        assert cells[1] == ("(to be named)" if name == "model" else shown)
        assert cells[2] == facts["diffusers"]["values"][name].replace(" | ", " / ")
        assert cells[3] == described
    presets = ("instruct-pix2pix", "paint-by-inpaint", "instruct-diffusion", "phantom-editor")
    for name in (*presets, "icedit", "flux-kontext", "flux2", "qwen-image-edit"):
        settings = facts[name]["settings"]
        shown = [settings[one] for one in ("guidance", "image_guidance", "scheduler")]
        shown += [settings["steps"], settings["size"]]
        cells = [f"{one:g}" if isinstance(one, float) else str(one) for one in shown]
        assert f"| `{name}` | {' | '.join(cells)} |" in text


def test_every_editor_has_a_command_to_copy_in_the_documentation():
    """Each is called in an example, and all calls in examples are calls that medebench takes."""
    text = (REPOSITORY / "docs" / "editors.md").read_text("utf-8")
    lines = [line.strip() for line in text.splitlines() if line.startswith("    medebench edit ")]
    words = [shlex.split(line, comments=True) for line in lines]
    calls = [one[one.index("--editor") + 1] for one in words]
    assert {split_name(one)[0] for one in calls} == set(EDITORS)
    for one in calls:
        find_system(one)
    for name in EDITORS:
        assert f"`{name}`" in text


def test_the_papers_seven_are_marked():
    text = (REPOSITORY / "docs" / "editors.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `") and "` * |" in line]
    assert len(rows) == 7


def test_an_estimate_needs_no_key(monkeypatch, small_set, tmp_path):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    out = ("--out", str(tmp_path / "run"))
    for one in (
        "gemini:gemini-nano-banana-2.1",
        "openai-image:gpt-image-2",
        "composed:openai:gpt-4o+identity",
        "refine:judge=openai:gpt-4o,rounds=1,identity",
    ):
        done = call("edit", str(small_set), "--editor", one, *out, "--dry-run", "--json")
        plan = json.loads(done.stdout)
        assert done.exit_code == 0 and plan["calls"] >= 4 and plan["cost"] > 0
        done = call("edit", str(small_set), "--editor", one, *out)
        assert done.exit_code == 2 and "_API_KEY" in done.stderr
    assert not (tmp_path / "run").exists()
