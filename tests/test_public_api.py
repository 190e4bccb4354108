"""What `import medebench as mb` promises: every name is there, told, typed, and does its work."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medebench as mb
from medebench.page.table import Cell, Column, Group, Row
from tests.conftest import load_tool, write_set
from tests.stresstest.own_data import write_data, write_plan, write_table

PUBLIC = {name: getattr(mb, name) for name in mb.__all__ if not name.startswith("_")}
FUNCTIONS = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one)}
HOSTILE = "<script>alert('x')</script> & \"quoted\""


@pytest.fixture(scope="module")
def every_module() -> list[str]:
    """All submodules, imported; a package with a public name would now stand in its place."""
    found = [one.name for one in pkgutil.walk_packages(mb.__path__, "medebench.")]
    for name in found:
        if name != "medebench.__main__":
            importlib.import_module(name)
    return found


def test_no_module_takes_the_place_of_a_name(every_module):
    assert len(every_module) > 300
    assert [name for name in PUBLIC if isinstance(getattr(mb, name), types.ModuleType)] == []


def test_type_checkers_see_the_same_names():
    """Read here as Python, not by the pattern that the package reads its stub with."""
    tree = ast.parse(Path(mb.__file__).with_suffix(".pyi").read_text("utf-8"))
    seen = {
        alias.asname: one.module
        for one in tree.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
        if alias.asname == alias.name
    }
    assert len(seen) > 80 and seen == mb._PLACES
    assert sorted(seen) == sorted(PUBLIC)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_and_give(name):
    told = inspect.getdoc(FUNCTIONS[name]) or ""
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    described = re.findall(
        r"^    (\w+): ", told.partition("Args:")[2].partition("Returns:")[0], re.M
    )
    assert described == list(parameters)
    assert "Returns:\n" in told and "\n>>> " in told


@pytest.mark.parametrize("name", [name for name in PUBLIC if isinstance(PUBLIC[name], type)])
def test_types_say_what_they_are(name):
    told = inspect.getdoc(PUBLIC[name]) or ""
    assert told and not told.startswith(f"{name}(")


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("medebench"):
        yield hint
    for inner in typing.get_args(hint):
        yield from _classes(inner)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_of_signatures_are_public(name):
    for hint in typing.get_type_hints(FUNCTIONS[name]).values():
        for one in _classes(hint):
            assert getattr(mb, one.__name__, None) is one, f"{one.__module__}.{one.__name__}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def run(folder) -> mb.Run:
    return mb.edit("phantoms:count=2", "blur", folder / "blur")


def _stress(folder: Path) -> mb.StressResults:
    folder.mkdir()
    write_table(folder, write_data(folder))
    edit = {"prompt": "no pneumothorax", "label": "normal", "editor": "blur:sigma=2"}
    return mb.stress(write_plan(folder, edit=edit, edit_score="none"))


def _plan(folder: Path) -> Path:
    path = folder / "plan.yaml"
    path.write_text(
        "{cases: 'phantoms:count=2', editors: [identity], metrics: [cp], report: false}"
    )
    return path


#: An experiment of one training on a tiny model.
SMALL: dict[str, Any] = {"samples": (0, 1), "draws": 1, "seeds": 1, "test": 2}
SMALL |= {"arms": ("per-sample",), "devices": "cpu", "tasks": ("Remove moles",)}


def _brought(folder: Path) -> tuple[Path, str]:
    from tests.tiny_pipelines import tiny_instruct_pix2pix

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tiny = tiny_instruct_pix2pix(folder / "tiny")
    return write_set(folder / "set", 8), f"diffusers:{tiny},steps=1,size=64"


def _rankings(folder: Path) -> Path:
    rows = [f"{who},{case},vq,{rank}" for who in "ab" for case in "1234" for rank in ("x,1", "y,2")]
    path = folder / "rankings.csv"
    path.write_text("\n".join(["annotator,case,dimension,model,rank", *rows]))
    return path


def _arrays() -> tuple[Any, Any, Any, Any]:
    before = np.random.default_rng(0).integers(0, 200, (32, 40), dtype=np.uint8)
    roi = np.zeros((32, 40), bool)
    roi[8:20, 8:20] = True
    wanted = np.where(roi, before + 50, before)
    return before, np.where(roi, before + 25, before), wanted.astype(np.uint8), roi


BEFORE, OUTPUT, WANTED, ROI = _arrays()

#: Every public function, really called, cheaply.
CALLS: dict[str, Callable[[mb.Run, Path], Any]] = {
    "adopt": lambda run, to: mb.adopt(run.edits, "phantoms:count=2", to / "adopted"),
    "case_figure": lambda run, to: mb.score(run, "cp") and mb.case_figure(run, ["1"], to / "f.svg"),
    "check_cases": lambda run, to: mb.check_cases("phantoms:count=2").cases,
    "compare": lambda run, to: mb.score(run, "cp") and mb.compare(run, run).changes,
    "cp": lambda run, to: mb.cp(BEFORE, OUTPUT, ROI),
    "cp_published": lambda run, to: mb.cp_published(BEFORE, OUTPUT, ROI),
    "describe_cases": lambda run, to: mb.describe_cases("phantoms:count=2", to / "d").index,
    "edit": lambda run, to: mb.edit("phantoms:count=2", "identity", to / "edited"),
    "edit_completion": lambda run, to: mb.edit_completion(BEFORE, OUTPUT, WANTED, ROI),
    "edit_residual": lambda run, to: mb.edit_residual(BEFORE, OUTPUT, WANTED, ROI),
    "export": lambda run, to: mb.score(run, "cp") and mb.export(run, to / "s.jsonl").rows,
    "generate": lambda run, to: mb.generate("phantoms:count=2", "blur", to / "generated"),
    "ground": lambda run, to: mb.ground(run),
    "list_case_sets": lambda run, to: mb.list_case_sets(),
    "list_editors": lambda run, to: mb.list_editors(),
    "list_encoders": lambda run, to: mb.list_encoders(),
    "list_judges": lambda run, to: mb.list_judges(),
    "list_metrics": lambda run, to: mb.list_metrics(),
    "list_providers": lambda run, to: mb.list_providers(),
    "list_systems": lambda run, to: mb.list_systems(),
    "list_tasks": lambda run, to: mb.list_tasks(),
    "list_weights": lambda run, to: mb.list_weights(),
    "load_cases": lambda run, to: len(mb.load_cases("phantoms:count=2")),
    "load_plan": lambda run, to: mb.load_plan("demo"),
    "mean_change": lambda run, to: mb.mean_change(BEFORE, OUTPUT, ROI),
    "metric": lambda run, to: mb.metric("mine", "a test")(lambda case, output: 1.0),
    "new_study": lambda run, to: mb.new_study(
        [run, mb.edit("phantoms:count=2", "noise", to / "n")], to / "s", controls=0, repeats=0
    ),
    "open_case": lambda run, to: mb.open_case(next(iter(run.cases))).previous.size,
    "open_run": lambda run, to: mb.open_run(run.path),
    "open_study": lambda run, to: mb.open_study(CALLS["new_study"](run, to).study.path),
    "psnr": lambda run, to: mb.psnr(BEFORE, OUTPUT),
    "report": lambda run, to: mb.score(run, "cp") and mb.report(run, to / "r", published=False),
    "run_plan": lambda run, to: mb.run_plan(_plan(to)).runs,
    "save_baseline": lambda run, to: mb.score(run, "cp") and mb.save_baseline(run, to / "b.json"),
    "score": lambda run, to: mb.score(run, "ssim"),
    "ssim": lambda run, to: mb.ssim(BEFORE, OUTPUT),
    "stress": lambda run, to: _stress(to / "stress").tests,
    "tune": lambda run, to: mb.tune(*_brought(to), to / "t", **SMALL, dry_run=True).estimate,
    "study_results": lambda run, to: mb.study_results(_rankings(to)).models,
}


def test_every_function_is_called_below():
    assert set(CALLS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", CALLS)
def test_it_works_whatever_was_imported(name, every_module, run, tmp_path):
    assert CALLS[name](run, tmp_path)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("list_")])
def test_lists_have_rows_of_one_line(name):
    rows = FUNCTIONS[name]()
    assert rows and all(isinstance(one, mb.Entry) for one in rows)
    for one in rows:
        assert one.name and one.summary and one.name in repr(one) and "\n" not in repr(one)
        assert one.ready == (one.problem is None) == one.to_json()["ready"]


def test_functions_on_arrays_give_the_numbers_of_the_metrics(run):
    case = mb.open_case(next(iter(run.cases)))
    output = case.fit(mb.open_case(next(iter(run.cases))).reference)
    before, wanted, roi = case.previous, case.reference, case.roi
    found = {
        "cp": mb.cp(before, output, roi),
        "cp_published": mb.cp_published(before, output, case.mask),
        "change_inside": mb.mean_change(before, output, roi),
        "change_outside": mb.mean_change(before, output, ~roi),
        "edit_completion": mb.edit_completion(before, output, wanted, roi),
        "edit_residual": mb.edit_residual(before, output, wanted, roi),
        "ssim": mb.ssim(wanted, before),
        "psnr": mb.psnr(wanted, before),
    }
    from medebench.metrics import find_metric

    for name, value in found.items():
        given = before if name in ("ssim", "psnr") else output
        assert find_metric(name)(case, given) == value, name


def test_grey_images_count_like_three_equal_channels():
    def colour(image):
        return np.repeat(image[:, :, None], 3, axis=2)

    assert mb.ssim(BEFORE, OUTPUT) == mb.ssim(colour(BEFORE), colour(OUTPUT))
    assert mb.cp(BEFORE, OUTPUT, ROI) == mb.cp(colour(BEFORE), colour(OUTPUT), ROI)
    deep = BEFORE.astype(np.uint16) * 257
    assert mb.psnr(deep, OUTPUT.astype(np.uint16) * 257) == pytest.approx(mb.psnr(BEFORE, OUTPUT))


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ((BEFORE / 255, OUTPUT, ROI), "float64"),
        ((BEFORE, OUTPUT[1:], ROI), "31 x 40"),
        ((BEFORE, OUTPUT, ROI[:, 1:]), "roi: is 32 x 39"),
        ((BEFORE[0], OUTPUT[0], ROI), "found 40 uint8"),
    ],
)
def test_wrong_arrays_get_one_line(arrays, told):
    with pytest.raises(mb.InputError, match=told) as error:
        mb.cp(*arrays)
    assert "\n" not in str(error.value)


def test_reprs_are_one_short_line(run):
    case = next(iter(run.cases))
    card = mb.Card(
        "7", (mb.CardText("a", "b"),), (mb.CardImage("c", np.zeros((8, 8, 3), np.uint8)),)
    )
    things = [run, run.cases, case, mb.open_case(case), mb.Output(BEFORE, "x" * 999), card]
    things += [mb.Estimate(0.5), mb.load_plan("demo"), mb.check_cases(run.cases), *card.images]
    things += [mb.Table([Column("a")], [Group([Row("b", [])])])]
    for one in things:
        assert "\n" not in repr(one) and len(repr(one)) < 200, repr(one)


class _Page(HTMLParser):
    """What a browser would find: tags, and the text outside of them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.images: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs)["src"])

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_cases(run):
    case = next(iter(run.cases))
    for shown in (case, mb.open_case(case)):
        page = _Page(shown._repr_html_())
        assert len(page.images) == 2
        assert all(one.startswith("data:image/png;base64,") for one in page.images)
        assert case.prompt in page.text


def test_a_notebook_shows_texts_as_texts(tmp_path):
    picture = np.zeros((8, 8, 3), np.uint16)
    things = [
        mb.Case("1", None, HOSTILE),
        mb.Output(picture, HOSTILE),
        mb.Card("1", (mb.CardText(HOSTILE, HOSTILE),), (mb.CardImage(HOSTILE, picture),)),
        mb.Table([Column(HOSTILE)], [Group([Row(HOSTILE, [])])], title=HOSTILE, notes=[HOSTILE]),
    ]
    for one in things:
        page = _Page(one._repr_html_())
        assert HOSTILE in page.text and "script" not in page.tags
    numbers = mb.Table([Column("model"), Column("CP")], [Group([Row("mine", [Cell("0.91")])])])
    assert "0.91" in _Page(numbers._repr_html_()).text


def test_a_case_whose_image_is_lost_still_shows_its_texts(tmp_path):
    page = _Page(mb.Case("1", tmp_path / "gone.png", "Remove it")._repr_html_())
    assert "gone.png" in page.text and "Remove it" in page.text and not page.images


def test_the_page_about_python_is_that_of_the_code():
    tool = load_tool("python_page")
    text = tool.PAGE.read_text("utf-8")
    assert text.partition(tool.MARK)[2].strip() == tool.reference().strip(), (
        "run python tools/python_page.py"
    )
    for name in PUBLIC:
        assert f"`mb.{name}(" in text or f"`{name}`" in text, name


def test_the_examples_of_the_page_about_python_run(tmp_path):
    """Those written by hand; those of the reference are run where they come from."""
    tool = load_tool("python_page")
    text = tool.PAGE.read_text("utf-8").partition(tool.MARK)[0].replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {"tmp": tmp_path}, "python.md", None, 0)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert found.attempted > 10 and found.failed == 0
