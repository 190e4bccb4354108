"""What the documentation says exists."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from medebench.cli import app
from medebench.editors import find_editor
from medebench.plan import load_plan
from medebench.stress.plan import read_stress
from tests.conftest import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]


def _commands(text: str) -> list[str]:
    """Lines of code blocks (fenced or indented) and quoted calls; `make` lines are not ours."""
    fenced = "\n".join(re.findall(r"```\n(.*?)```", text, re.DOTALL))
    lines = fenced.splitlines() + [line[4:] for line in text.splitlines() if line[:4] == " " * 4]
    quoted = re.findall(r"`(medebench [a-z][^`]*)`", text)
    return [line for line in lines if re.match(r"medebench [a-z]", line)] + quoted


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            path = target.partition("#")[0]
            assert not path or (page.parent / path).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_their_options_exist(page):
    for line in _commands(page.read_text("utf-8")):
        words = shlex.split(line.partition("#")[0])[1:]
        command = typer.main.get_command(app)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known | {"--help"}, line


def test_the_plans_in_the_docs_are_valid(tmp_path):
    found = stress = 0
    for page in PAGES:
        for plan in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            (tmp_path / "plan.yaml").write_text(plan, "utf-8")
            if "predictor:" in plan:
                stress += bool(find_editor(read_stress(tmp_path / "plan.yaml").editor))
                continue
            for entry in load_plan(str(tmp_path / "plan.yaml")).model.editors:
                if ".py:" not in entry.editor:
                    find_editor(entry.editor, entry.settings)
            found += "cases:" in plan
    assert (found, stress) == (4, 3)


def test_nothing_is_left_to_be_filled_in():
    for page in PAGES:
        assert "@@" not in page.read_text("utf-8"), page.name


def test_python_in_the_docs_is_python():
    for page in PAGES:
        for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            compile(code, str(page), "exec")


def test_every_learned_metric_and_what_it_is_worth_is_documented():
    from medebench.metrics import LEARNED
    from medebench.report.published import published_worth

    text = (REPOSITORY / "docs" / "metrics.md").read_text("utf-8")
    for name in LEARNED:
        assert f"`{name}`" in text or f"`{name}_<encoder>`" in text, name
    table = text.partition("## What each is worth")[2].splitlines()
    rows = [line.split("|")[1:-1] for line in table if re.search(r"\| 0\.\d\d \|$", line)]
    told = {row[0].strip(): [float(one) for one in row[2:]] for row in rows}
    for name, printed in published_worth().rho.items():
        assert told[name.replace("_", ", ")] == [printed[which] for which in ("EA", "CP", "VQ")]


def test_all_built_in_names_are_documented():
    from medebench.editors import EDITORS
    from medebench.judge import JUDGES
    from medebench.metrics import METRICS

    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in (*EDITORS.builtin, *METRICS.builtin, *JUDGES.builtin):
        assert f"`{name}" in text or f"--editor {name}" in text or f" {name}" in text, name
