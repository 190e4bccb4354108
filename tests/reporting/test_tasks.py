"""Reports of tasks other than editing, in tables, in files and in a real browser."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.reporting import build_report
from medebench.reporting.case_groups import Group
from tests.patience import PATIENCE
from tests.reporting.toy_tasks import HOSTILE, LONG, make_runs, write_cases
from tests.reporting.toy_tasks import __file__ as TOYS
from tests.study.browser.person import CHROMIUM, DRIVER, NO_BROWSER, open_browser

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER)
NARROW = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cases(tmp_path_factory.mktemp("toys") / "set")


@pytest.fixture(scope="module")
def answered(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    out = tmp_path_factory.mktemp("answered")
    return make_runs(folder, "Questions", ["First", "Knowing"], out)


@pytest.fixture(scope="module")
def questions(answered: list[mb.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(answered, tmp_path_factory.mktemp("questions")).index


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    return make_runs(folder, "Figured", ["Writer"], tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="module")
def figured(written: list[mb.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(written, tmp_path_factory.mktemp("figured")).index


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_headline_scores_lead(questions: Path) -> None:
    rows = [row for row in rows_of(questions.parent / "table.csv") if row["basis"] == "own"]
    assert [row["metric"] for row in rows] == ["exact", "words"] * 2
    means = {row["run"]: float(row["mean"]) for row in rows if row["metric"] == "exact"}
    # Four of twelve answers are "yes"; nine of eleven are given word for word.
    assert means == {"first": pytest.approx(1 / 3), "knowing": pytest.approx(9 / 11)}
    assert not any(row["kind"] == "published" for row in rows)


def test_tables_break_down_by_its_groups(questions: Path, answered: list[mb.Run]) -> None:
    rows = rows_of(questions.parent / "modalities.csv")
    assert {row["modality"] for row in rows} == {"CT", "MR", "X-ray", "no modality named"}
    within = rows_of(questions.parent / "difficulties.csv")
    [one] = [
        row
        for row in within
        if (row["basis"], row["modality"], row["difficulty"], row["run"], row["metric"])
        == ("own", "MR", "hard", "knowing", "exact")
    ]
    assert (one["cases"], one["mean"]) == ("2", "1.0")  # q1 and q7
    assert not (questions.parent / "organs.csv").exists()


def test_the_page_does_not_speak_of_editing(questions: Path) -> None:
    text = re.sub(r"<svg.*?</svg>", "", questions.read_text("utf-8"), flags=re.DOTALL)
    assert "Answer a question about medical images" in text and "Modality by modality" in text
    for word in ("edit", "organ", "ROI", "SSIM", "previous image", "CP"):
        assert not re.search(rf"\b{word}", re.sub(r"<[^>]*>", " ", text)), word
    figures = {path.stem for path in (questions.parent / "figures").glob("*.svg")}
    assert "bars" in figures and not figures & {"tradeoff", "inflation"}


def test_a_second_report_draws_nothing_again(
    written: list[mb.Run], figured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p: p.read_bytes() for p in figured.parent.rglob("*") if p.is_file()}

    def fail(*given: object) -> None:
        raise AssertionError("opened again")

    monkeypatch.setattr("medebench.reporting.case_artist.open_case", fail)
    build_report(written, figured.parent)
    assert {p: p.read_bytes() for p in figured.parent.rglob("*") if p.is_file()} == before


def test_a_card_that_breaks_is_told(written: list[mb.Run], tmp_path: Path) -> None:
    own = Path(TOYS).read_text().replace('f"ward {case.case.id}"', 'f"ward {case.nothing}"')
    (tmp_path / "broken.py").write_text(own)
    run = mb.open_run(written[0].path)
    run.info = run.info.model_copy(update={"task": f"{tmp_path / 'broken.py'}:Figured"})
    index = build_report([run], tmp_path / "report").index
    assert "its card could not be made" in (index.parent / "assets/cases.js").read_text()


def test_runs_of_different_tasks_are_refused(
    answered: list[mb.Run], written: list[mb.Run], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="report the runs of each task separately") as caught:
        build_report([*answered, *written], tmp_path / "report")
    assert "\n" not in str(caught.value) and "Figured" in str(caught.value)
    assert not (tmp_path / "report").exists()


def test_only_its_own_scores_can_lead(answered: list[mb.Run], tmp_path: Path) -> None:
    table = build_report(answered, tmp_path / "report", headline="words").table
    assert [score.name for score in table.columns] == ["words", "exact"]
    with pytest.raises(InputError, match="choose exact or words"):
        build_report(answered, tmp_path / "other", headline="bleu")


def test_a_judge_stands_for_its_score(written: list[mb.Run], tmp_path: Path) -> None:
    from medebench.page.score_columns import describe, dimensions
    from medebench.tasks import Task

    told = {"judge": "openai:gpt-5", "rubric": "mine v1"}
    scores = describe(["accuracy_openai:gpt-5", "exact"], {"accuracy_openai:gpt-5": told})
    task = Task("triage", "how urgent", headline=("accuracy", "exact"))
    assert [one.name for one in dimensions(scores, "", task)] == ["accuracy_openai:gpt-5", "exact"]
    [judged] = [one for one in scores if one.judge]
    assert (judged.label, judged.bounds) == ("Accuracy", (0.0, 1.0))


def test_a_group_never_takes_the_file_of_another_table() -> None:
    files = [Group(name, "group").file for name in ("set", "finding", "Body part", "§", "organ")]
    assert files == ["by-sets.csv", "by-findings.csv", "body-parts.csv", "s.csv", "organs.csv"]


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    made = open_browser()
    yield made
    made.quit()


@pytest.fixture
def wait(driver: Any) -> Callable[[str], Any]:
    from selenium.webdriver.support.ui import WebDriverWait

    def until(code: str) -> Any:
        wait = WebDriverWait(driver, PATIENCE, 0.05)
        return wait.until(lambda _: driver.execute_script(f"return {code}"))

    return until


def text_of(driver: Any, query: str) -> str:
    return str(
        driver.execute_script(f"return document.querySelector({json.dumps(query)}).innerText")
    )


def go(driver: Any, page: Path, address: str = "") -> None:
    driver.get("about:blank")
    driver.get(page.as_uri() + address)


@in_browser
def test_texts_are_seen_in_the_gallery(driver: Any, wait: Any, questions: Path) -> None:
    go(driver, questions)
    driver.execute_script(
        "const sort = document.getElementById('f-sort'); sort.value = 'id';"
        "sort.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    wait("document.querySelector('#g-cases article h3').textContent === 'q0'")
    show = "document.querySelector('#g-cases article:nth-child(4)').scrollIntoView()"
    driver.execute_script(show)
    for number, least in ((4, 99), (5, len(HOSTILE)), (6, 9)):
        tile = f"#g-cases article:nth-child({number}) .tile:last-child .snippet"
        wait(f"document.querySelector('{tile}').innerText.length >= {least}")
    third = text_of(driver, "#g-cases article:nth-child(4)")
    for part in ("segment 3 of the liver?", "B. no", "Reference", "yes. The lesion is well"):
        assert part in third
    assert HOSTILE in text_of(driver, "#g-cases article:nth-child(5)")
    assert "it does not answer this" in text_of(driver, "#g-cases article:nth-child(6)")
    assert driver.execute_script("return document.querySelector('#g-cases b')") is None
    severe = [one for one in driver.get_log("browser") if one["level"] == "SEVERE"]
    assert not severe, severe


@in_browser
def test_a_long_text_is_cut_and_can_be_seen_whole(driver: Any, wait: Any, questions: Path) -> None:
    go(driver, questions, "#case=q3")
    wait("document.querySelector('#case-answers .long button')")
    assert LONG.strip() not in text_of(driver, "#case-answers")
    driver.execute_script("document.querySelector('#case-answers .long button').click()")
    assert LONG.strip() in text_of(driver, "#case-answers")
    told = text_of(driver, "#case-texts")
    assert "C. it cannot be told from these images" in told and "hard" in told
    assert "Exact match" in text_of(driver, "#case-scores")
    # A case without any image has no empty frame for one.
    go(driver, questions, "#case=q7")
    assert not driver.execute_script("return document.querySelector('.stage').offsetHeight")


@in_browser
def test_what_a_card_adds_is_seen(driver: Any, wait: Any, figured: Path) -> None:
    go(driver, figured, "#case=q1")
    wait("document.querySelector('#case-answers figure img')?.naturalWidth > 0")
    assert "ward q1" in text_of(driver, "#case-texts")
    seen = text_of(driver, "#case-answers")
    assert "one round lesion" in seen and "8 words" in seen and "Negative" in seen
    wait("document.querySelector('#case-view img.right')?.naturalWidth > 0")


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_narrow_screen(driver: Any, questions: Path, figured: Path, theme: str) -> None:
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        for page in (questions, figured):
            go(driver, page, f"?theme={theme}#case=q3")
            width = driver.execute_script("return document.documentElement.scrollWidth")
            dialog = driver.execute_script("return document.getElementById('case').scrollWidth")
            assert width <= 390 and dialog <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
