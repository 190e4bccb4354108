"""An experiment as a section of a report about runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import medebench as mb
from medebench.tuning.learning_curve import answer
from medebench.tuning.page import tuning_section
from tests.study.test_section import parse
from tests.tuning.page.conftest import Pair


def test_stands_in_the_report_with_its_files(usual: Pair, tmp_path: Path):
    outcome, answers = usual
    run = mb.edit("phantoms:count=2", "identity", tmp_path / "run")
    mb.score(run, ["cp"])
    section = tuning_section(outcome, answers, page="../tuning/index.html")
    report = mb.report(
        run, tmp_path / "report", published=False, scale=False, audit=False, sections=[section]
    )
    html = report.index.read_text()
    found = parse(html)
    assert "learning" in found.ids and "#learning" in found.links
    assert answers.words[0] in found.text
    assert "../tuning/index.html" in found.links
    folder = report.index.parent
    for name in ("learning-points.csv", "learning-contrasts.csv", "learning-splits.csv"):
        assert name in found.links and (folder / name).is_file()
    assert (folder / "figures" / "curves-ea_openai-gpt-4o.svg").is_file()
    assert (folder / "assets" / "tuning.css").is_file()
    # The styles are the section's own: nothing else in the report changes its looks.
    style = (folder / "assets" / "tuning.css").read_text()
    assert style.split("*/", 1)[1].strip().startswith(".learning {")
    assert all(line.startswith((" ", "}", ".learning")) for line in style.splitlines()[1:])


def test_one_training_is_told_once(usual: Pair) -> None:
    """At the most pairs both arms are the same training, unless the steps are others."""
    outcome, answers = usual
    said = " ".join(answers.words)
    assert said.count("After training on 16 pairs (mean of 3 tasks), with 800 steps, it is") == 1
    assert said.count("By task, after 16 pairs with 800 steps") == 1
    assert "steps per pair" not in said
    other = replace(outcome, design=replace(outcome.design, steps=100))
    said = " ".join(answer(other).words)
    assert said.count("with a fixed number of steps per pair") == 3
    assert said.count("with the same number of steps at every number of pairs") == 3
