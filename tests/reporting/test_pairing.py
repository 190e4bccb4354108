"""The pairing experiment: a reader of pictures loses its score, one that does not look keeps it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cases import OpenCase
from medebench.cli import app
from medebench.errors import InputError
from medebench.phantoms.medgen.medgen_files import write_case
from medebench.reporting.pairing_experiment import run_pairing
from medebench.systems import Refused, Request, find_system
from medebench.systems.paired import CONTROLS

HERE = __file__


@mb.metric("right_answer", "the answer is the reference, letter and words", of="text")
def right_answer(case, text):
    if case.case.task not in ("multiple-choice", "blank-filling"):
        raise mb.Undefined("not of this task")
    return float(text == case.case.answer)


class Deaf(mb.System):
    """Hears the first words of the question, sees nothing."""

    gives = ("text",)

    def generate(self, request):
        return request.case.case.choices[0] if request.case.case.choices else "left"


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """18 of each of the two first tasks; the others are not drawn."""
    root = tmp_path_factory.mktemp("drawn")
    entries = [write_case(root, 16 * n + task, 21) for n in range(18) for task in (0, 1)]
    (root / "cases.jsonl").write_text("\n".join(map(json.dumps, entries)))
    return mb.load_cases(root, task="medgen")


@pytest.fixture(scope="module")
def found(cases, tmp_path_factory):
    out = tmp_path_factory.mktemp("pairing")
    return out, run_pairing(cases, "phantom-answerer", out, metrics=[right_answer])


def test_a_reader_of_pictures_depends_on_all_five(found):
    _, result = found
    assert [one.control for one in result.drops] == [*CONTROLS]
    for one in result.drops:
        assert one.depends is True, one.control
        assert one.intact.value > 0.85 > 0.6 > one.altered.value
        assert one.pair.p_holm <= 0.05 and one.pair.interval.low > 0


def test_the_result_is_written_and_shown(found):
    out, result = found
    told = json.loads((out / "pairing.json").read_text())
    assert [one["control"] for one in told["drops"]] == [*CONTROLS]
    assert told["drops"][0]["depends"] is True
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == sorted(
        ["intact", *CONTROLS]
    )
    table = result.table()
    records = table.records()
    assert "revised manuscript" in table.notes[-1] and "blank image 2.16" in table.notes[-1]
    assert [one["control"] for one in records] == [*CONTROLS]
    assert all(one["drop"] == told["drops"][n]["drop"] for n, one in enumerate(records))


def test_run_again_it_makes_nothing_anew(found, cases):
    out, result = found
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/edits/*")}
    again = run_pairing(cases, "phantom-answerer", out, metrics=[right_answer])
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/edits/*")} == before
    assert again.to_json() == result.to_json()


def test_one_that_does_not_look_loses_nothing(cases, tmp_path):
    few = cases.select(limit=24)
    images = ("blank", "shuffled-image")
    result = run_pairing(few, f"{HERE}:Deaf", tmp_path, metrics=[right_answer], controls=images)
    for one in result.drops:
        assert one.pair.difference == 0 and one.depends is not True


def request_of(case, others=()):
    opened = tuple(map(OpenCase, others))
    return Request(OpenCase(case), 0, 3, demonstrations=opened, gives=("text",))


class Witness(mb.System):
    """Tells what it is shown."""

    gives = ("text",)

    def generate(self, request):
        case = request.case
        greys = [len(np.unique(case.image(role))) for role in case.case.inputs()]
        assert not request.demonstrations
        return json.dumps([case.source, greys, request.instruction, case.case.choices])


def test_a_control_that_is_shown_something_else_is_still_a_control():
    assert find_system("paired:control=blank,random-choice").system.control
    assert not find_system(f"paired:control=blank,{HERE}:Witness").system.control


@pytest.mark.parametrize("control", CONTROLS)
def test_what_the_system_inside_is_shown(control, cases):
    task = [case for case in cases if case.task == "multiple-choice"]
    own = next(case for case in task if case.images)
    others = [case for case in task if case.id != own.id]
    system = find_system(f"paired:control={control},{HERE}:Witness").system
    made = system.generate(request_of(own, others))
    source, greys, instruction, choices = json.loads(made.text)
    told = made.detail["shown"]
    if control == "blank":
        assert greys == [1] * 4 and instruction == own.prompt and told == "a blank image"
        return
    other = next(case for case in others if case.id == told)
    if control == "shuffled-instruction":
        assert source == OpenCase(own).source
        assert (instruction, tuple(choices)) == (other.prompt, other.choices)
        return
    assert source == OpenCase(other).source and instruction == own.prompt
    assert tuple(choices) == own.choices
    if control != "shuffled-image":
        assert (other.modality == own.modality) == (control == "same-modality")


def test_the_same_number_of_images_is_preferred(cases):
    task = [case for case in cases if case.task == "multiple-choice"]
    four = [case for case in task if case.images]
    one = [case for case in task if not case.images]
    system = find_system(f"paired:control=shuffled-image,{HERE}:Witness").system
    for own, wanted in ((four[0], 4), (one[0], 1)):
        rest = [case for case in (*one[:3], *four[:3]) if case.id != own.id]
        made = system.generate(request_of(own, rest))
        assert len(json.loads(made.text)[1]) == wanted


def test_where_there_is_no_such_case_there_is_a_reason(cases):
    own = cases.cases[0]
    alike = [case for case in cases if case.modality == own.modality and case.id != own.id]
    system = find_system(f"paired:control=unrelated,{HERE}:Witness").system
    with pytest.raises(Refused, match="no other case of another modality"):
        system.generate(request_of(own, alike))


def test_a_run_says_what_was_inside(cases, tmp_path):
    run = mb.generate(cases.select(limit=4), f"paired:control=blank,{HERE}:Deaf", tmp_path / "r")
    assert run.info.settings["control"] == "blank"
    assert run.info.settings["system"]["name"] == "Deaf"
    with run.ledger() as ledger:
        assert all(row.detail["shown"] for row in ledger.outputs().values())


def test_mistakes_get_a_line(cases, tmp_path):
    with pytest.raises(InputError, match="control"):
        find_system("paired:control=sideways,identity")
    with pytest.raises(InputError, match="is shown other cases itself"):
        find_system("paired:control=blank,other-answer")
    with pytest.raises(InputError, match="control 'x': choose of blank"):
        run_pairing(cases, "identity", tmp_path / "a", metrics=[right_answer], controls=["x"])
    assert not (tmp_path / "a").exists()


def test_the_command(cases, tmp_path):
    call = ["pairing", "medgen-phantoms:count=16,seed=21", "--system", "identity", "--metrics"]
    done = CliRunner().invoke(app, [*call, "ssim", "--out", str(tmp_path / "p"), "--json"])
    told = json.loads(done.stdout)
    assert {one["metric"] for one in told["drops"]} == {"ssim"}
    assert re.search("not", " ".join(one["why"] or "not" for one in told["drops"]))
    assert done.exit_code in (0, 1)


def test_a_device_is_asked_in_batches(cases):
    class Device(mb.System):
        gives = ("text",)
        batch = 4

        def generate_batch(self, requests):
            return [str(len(requests))] * len(requests)

    import medebench.systems.paired as paired
    from medebench.systems.system_lookup import SystemInstance

    system = paired.Paired(paired.PairedSettings(system="empty-text", control="unrelated"))
    inner = Device(None)
    system._inner, system.batch = inner, 4
    system._instance = SystemInstance("device", {}, {}, "", inner)
    task = [case for case in cases if case.task == "multiple-choice"]
    other = next(one for one in task if one.modality != task[0].modality)
    requests = [request_of(task[0], [other]), request_of(task[0], []), request_of(task[0], [other])]
    first, second, third = system.generate_batch(requests)
    assert first.text == third.text == "2" and isinstance(second, Refused)
