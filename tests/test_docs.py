"""What the documentation says exists."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from medebench.cli import app
from medebench.judge.rubric_files import load_rubric
from medebench.models import find_client
from medebench.models.api_keys import keys_optional
from medebench.plan import load_plan
from medebench.stresstest.stress_plan import read_stress
from medebench.systems import find_system
from tests.conftest import REPOSITORY

_DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", *sorted(_DOCS.glob("*.md"))]
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
            if "criteria:" in plan:
                rubric = load_rubric(tmp_path / "plan.yaml")
                assert set(rubric.vocabulary.labels) == set(rubric.scores)
                continue
            if "predictor:" in plan:
                stress += bool(find_system(read_stress(tmp_path / "plan.yaml").editor))
                continue
            for entry in load_plan(str(tmp_path / "plan.yaml")).model.entries:
                if ".py:" not in entry.system:
                    find_system(entry.system, entry.settings)
            found += "cases:" in plan
    assert (found, stress) == (5, 3)


def test_nothing_is_left_to_be_filled_in():
    for page in PAGES:
        assert "@@" not in page.read_text("utf-8"), page.name


def test_python_in_the_docs_is_python():
    for page in PAGES:
        for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            compile(code, str(page), "exec")


def test_every_learned_metric_and_what_it_is_worth_is_documented():
    from medebench.analysis.published_tables import published_worth
    from medebench.metrics import LEARNED

    text = (REPOSITORY / "docs" / "metrics.md").read_text("utf-8")
    for name in LEARNED:
        assert f"`{name}`" in text or f"`{name}_<encoder>`" in text, name
    table = text.partition("## What each is worth")[2].splitlines()
    rows = [line.split("|")[1:-1] for line in table if re.search(r"\| 0\.\d\d \|$", line)]
    told = {row[0].strip(): [float(one) for one in row[2:]] for row in rows}
    for name, printed in published_worth().rho.items():
        assert told[name.replace("_", ", ")] == [printed[which] for which in ("EA", "CP", "VQ")]


def test_all_built_in_names_are_documented():
    from medebench.judge import JUDGES
    from medebench.metrics import METRICS
    from medebench.systems import SYSTEMS

    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in (*SYSTEMS.own_names(), *METRICS.builtin, *JUDGES.builtin):
        assert f"`{name}" in text or f"--editor {name}" in text or f" {name}" in text, name


def test_the_provider_in_the_docs_is_one(tmp_path):
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    (code,) = [
        one for one in re.findall(r"```python\n(.*?)```", pages, re.S) if "(Provider)" in one
    ]
    (tmp_path / "mine.py").write_text(code, "utf-8")
    with keys_optional():
        client = find_client(f"{tmp_path / 'mine.py'}:Postcard:tiny")
    assert client.name == "postcard:tiny" and client.price.cost(10**6, 10**6) == 1.0
