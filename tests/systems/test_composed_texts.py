"""Compositions and unified models that give texts with images, against a server in trouble.

The model and the painter are two models of one local server; each step is a real call.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.errors import InputError
from medebench.reporting.collect import collect
from medebench.runs.generate_run import NotAllTriedError, estimate_generation
from medebench.systems import find_system
from medebench.systems.answer_prompts import ANSWER
from medebench.systems.request import Refused
from tests.conftest import draw
from tests.models.drawing_server import DrawingServer, encoded, reply
from tests.models.server import always, mixture
from tests.patience import TROUBLED, wait_until
from tests.systems import asked
from tests.systems.asked import HERE, request, rows_of, text_of

ORDER = "Fill the round grey shape in the middle with the tissue around it; keep the rest."
TEXT = "The organ is gone."


def both(text=TEXT, order=ORDER):
    return json.dumps({"answer": text, "instruction": order})


class Studio(DrawingServer):
    """Also paints for who shows it nothing."""

    def draw(self, behaviour, call):
        if behaviour == "ok" and not call.images:
            self.drawn[call.texts[-1]] += 1
            return 200, reply(call, [encoded(draw(9))], "words")
        return super().draw(behaviour, call)


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    asked.surround(tmp_path, monkeypatch)


def composed_at(server, painter="openai-image:painter", **own):
    kind = painter.partition(":")[0]
    base = f"base_url={server.base_url('openai')}"
    given = "".join(f",{key}={value}" for key, value in own.items())
    inner = painter if kind == "identity" else f"{painter},base_url={server.base_url(kind)}"
    return f"composed:{base}{given},openai:vlm+{inner}"


def made(server, case, *gives, painter="openai-image:painter"):
    chosen = find_system(composed_at(server, painter))
    try:
        return chosen.generate(request(case, *gives))
    finally:
        chosen.system.close()


def own_order(call):
    """Of each case another one, so that it can be told who is painted for."""
    (number,) = {found for text in call.texts for found in re.findall(r"Take organ (\d+)", text)}
    return both(order=f"{ORDER} It is number {number}.")


def apart(plan):
    """The same troubles for words and pictures, but for those that only one of them can have."""

    def one(call):
        behaviour = plan(call)
        return "ok" if behaviour in ONLY[not call.wants_picture] else behaviour

    return one


#: What a call for a picture cannot have, and what one for words cannot.
ONLY = {False: ("prose", "wrong"), True: ("words", "half_picture", "wrong_size")}


def paid_twice(server):
    """Calls about a case that were answered with something of use more than once."""
    texts = {text: n for text, n in server.answered.items() if "Take organ" in text}
    return sum(n - 1 for n in [*texts.values(), *server.drawn.values()])


def painted(server):
    return [call for call in server.calls if call.wants_picture]


def test_the_painter_gets_order_and_picture_and_the_model_writes_the_text():
    case = asked.order()
    with Studio(answer=lambda call: both()) as server:
        output = made(server, case, "image", "text")
    asking, painting = server.calls
    assert output.text == TEXT and np.abs(output.image - (255.0 - draw(1))).max() <= 1
    assert case.prompt in asking.texts[-1] and "shown the same picture" in asking.texts[-1]
    with Image.open(io.BytesIO(asking.images[0])) as sent:
        assert np.array_equal(np.asarray(sent), draw(1))
    (told,) = painting.texts
    assert ORDER in told and case.prompt not in told and TEXT not in told
    assert len(painting.images) == 1
    detail = output.detail
    assert detail["asked"] == case.prompt and detail["instruction"] == ORDER
    assert detail["input_shown"] is True and "inner" in detail
    assert detail["rewriter"]["instruction"].startswith("text-and-order v1 (")


@pytest.mark.parametrize(
    "answer",
    [
        f"Here you are:\n```json\n{both()}\n```",
        f"<think>{both('no', 'not this order at all.')}</think>{both()}",
        "{'answer': '" + TEXT + "', 'instruction': '" + ORDER + "',}",
        json.dumps({"result": {"Answer": TEXT, "Instruction": ORDER}}),
    ],
)
def test_two_texts_are_read_as_models_write_them(answer):
    with Studio(answer=lambda call: answer) as server:
        output = made(server, asked.order(), "image", "text")
    assert output.text == TEXT and output.detail["instruction"] == ORDER


BAD = {
    "prose": ("I would fill it in.", "no JSON object with 'answer' and 'instruction'"),
    "no order": (json.dumps({"answer": TEXT}), "no JSON object with 'instruction'"),
    "empty order": (both(order=""), "'instruction' is empty"),
    "blank order": (both(order="  \n "), "'instruction' is empty"),
    "no text": (json.dumps({"instruction": ORDER}), "no JSON object with 'answer'"),
    "empty text": (both(text=" "), "'answer' is empty"),
    "form": (both(order="<the order>"), "placeholder"),
    "cut": ('{"answer": "The organ', "no JSON object"),
    "list": ("[1, 2]", "no JSON object"),
    "empty": ("", "the answer is empty"),
    "refusal": ("I'm sorry, I can't help with that.", "refused"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_failed_first_step_paints_nothing_and_is_the_reason(kind):
    answer, problem = BAD[kind]
    with Studio(answer=lambda call: answer) as server:
        with pytest.raises(Refused) as refused:
            made(server, asked.order(), "image", "text")
        assert len(server.calls) == 3 and painted(server) == []
    assert str(refused.value).startswith("no rewritten instruction: ")
    assert problem in str(refused.value)
    assert refused.value.detail["rewriter"]["tries"] == 3
    assert "instruction" not in refused.value.detail


@pytest.mark.parametrize("behaviour", ["400", "refusal", "length"])
def test_a_server_that_fails_the_first_step_paints_nothing(behaviour):
    with Studio(always(behaviour)) as server:
        with pytest.raises(Refused, match="no rewritten instruction"):
            made(server, asked.order(), "image", "text")
        assert painted(server) == []


def test_a_failed_second_step_is_the_reason_and_keeps_what_was_written():
    plan = {True: "refusal", False: "ok"}
    refusing = pytest.raises(Refused, match="the model refused")
    studio = Studio(lambda call: plan[call.wants_picture], answer=lambda call: both())
    with studio as server, refusing as refused:
        made(server, asked.order(), "image", "text")
    detail = refused.value.detail
    assert detail["instruction"] == ORDER and detail["said"] == TEXT
    assert detail["rewriter"]["tries"] == 1


def test_an_answer_is_the_models_and_an_edit_is_as_before(tmp_path):
    def answer(call):
        schema = call.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        if "answer" in schema.get("properties", {}):
            return both()
        return json.dumps({"instruction": f"{ORDER} Then stop."}) if schema else "B"

    with Studio(answer=answer) as server:
        run = mb.generate(f"{HERE}:mixed", composed_at(server), tmp_path / "run")
        assert len(painted(server)) == 12 and len(server.calls) == 30
    rows = rows_of(run)
    assert len(rows) == 18 and all(row.reason is None for row in rows.values())
    assert text_of(run, "ask-1") == "B" and text_of(run, "paint-1") == TEXT
    assert rows["ask-1"].detail["prompt"] == f"{ANSWER.label} letter"
    assert rows["edit-1"].detail["rewriter"]["instruction"].startswith("order-for-editor v1 (")
    assert rows["edit-1"].detail["input_shown"] is True
    assert not (run.edits / "edit-1_0.txt").exists()


def test_a_painter_that_sees_nothing_is_told_of_in_ledger_and_report(tmp_path):
    with Studio(answer=lambda call: both()) as server:
        blind = composed_at(server, "openai-image:painter,input=none")
        run = mb.generate(f"{HERE}:painted", blind, tmp_path / "blind")
        (call, *_) = painted(server)
        asking = server.calls[0]
        seeing = mb.generate(f"{HERE}:painted", composed_at(server), tmp_path / "seeing")
    assert call.images == [] and call.path.endswith("/images/generations")
    assert "shown no picture" in asking.texts[-1]
    assert all(row.detail["input_shown"] is False for row in rows_of(run).values())
    for one in (run, seeing):
        mb.score(one, "ssim")
    entries = {one.name: one for one in collect([run, seeing]).entries}
    assert entries["blind"].sees == "was not shown the input" and entries["seeing"].sees == ""


def test_what_gives_no_image_is_no_painter():
    with pytest.raises(InputError, match="'anthropic' gives text, no image"):
        find_system("composed:openai:vlm+anthropic:claude")


def test_an_estimate_counts_both_steps(tmp_path):
    with Studio() as server:
        plan = estimate_generation(f"{HERE}:mixed", composed_at(server), tmp_path / "run")
        assert server.calls == [] and plan.calls == 18 + 12


def test_no_connection_to_the_painter_writes_nothing_and_goes_on_later(tmp_path):
    plan = {True: "401", False: "ok"}
    with Studio(lambda call: plan[call.wants_picture], answer=lambda call: both()) as server:
        with pytest.raises(NotAllTriedError):
            mb.generate(f"{HERE}:painted", composed_at(server), tmp_path / "run")
        plan[True] = "ok"
        run = mb.generate(f"{HERE}:painted", composed_at(server), tmp_path / "run")
        # The texts had been paid for.
        assert max(server.answered.values()) == 1
    assert all(row.reason is None for row in rows_of(run).values())


CHAOS = {"429": 0.1, "500": 0.08, "cut": 0.04, "empty": 0.04, "nothing": 0.02, "refusal": 0.05}
CHAOS |= {"words": 0.05, "half_picture": 0.04, "wrong_size": 0.04, "length": 0.04, "prose": 0.05}
CHAOS |= {"wrong": 0.04}


@pytest.mark.parametrize("kind", ["composed", "gemini"])
def test_every_case_has_text_and_image_or_a_reason(kind, tmp_path, monkeypatch):
    monkeypatch.setenv(asked.COUNT, "40")
    cases = f"{HERE}:painted"
    with Studio(apart(mixture(3, **CHAOS)), latency=0.002, answer=own_order) as server:
        call = composed_at(server, f"openai-image:painter,timeout={TROUBLED}")
        call = call if kind == "composed" else f"gemini:model,base_url={server.url}"
        run = mb.generate(cases, call, tmp_path / "run")
        rows, whole = rows_of(run), 0
        assert len(rows) == 40
        for case_id, row in rows.items():
            there = [(run.edits / f"{case_id}_0.{one}").is_file() for one in ("png", "txt")]
            assert all(there) if row.reason is None else not any(there), row.reason
            assert row.reason is None or row.reason.strip()
            if row.reason is None:
                whole += 1
                assert text_of(run, case_id).strip() not in ("", "prose", "{}")
                assert row.detail["input_shown"] is True
        assert 20 <= whole < 40
        # Whoever painted was always given an order and a picture.
        for one in painted(server):
            assert one.images and "" not in one.texts
        assert paid_twice(server) == 0
        before = len(server.calls)
        mb.generate(cases, call, tmp_path / "run")
        assert len(server.calls) == before


@pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")
@pytest.mark.parametrize("kind", ["composed", "gemini"])
def test_killed_and_continued_nothing_is_paid_twice(kind, tmp_path, monkeypatch):
    count = 40
    monkeypatch.setenv(asked.COUNT, str(count))
    troubled = mixture(3, **{"429": 0.1, "500": 0.05})
    with Studio(latency=0.02, answer=own_order) as server:
        # Nobody gets to the end before the signal does.
        server.plan = lambda call: troubled(call) if len(server.drawn) < 12 else "hang"
        call = composed_at(server) if kind == "composed" else f"gemini:model,base_url={server.url}"
        command = [sys.executable, "-m", "medebench", "generate", f"{HERE}:painted"]
        command += ["--system", call, "--out", str(tmp_path / "run")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until(lambda: len(server.drawn) >= 12 or process.poll() is not None)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        before = sum(server.drawn.values())
        server.plan = always("ok")
        run = mb.generate(f"{HERE}:painted", call, tmp_path / "run")
        rows = rows_of(run)
        assert len(rows) == count
        for case_id, row in rows.items():
            assert row.reason is None and (run.edits / f"{case_id}_0.png").is_file()
            assert text_of(run, case_id) == (TEXT if kind == "composed" else "Here it is.")
        assert before < count
        # Only what was on its way when the process died is asked for again: eight at once.
        assert paid_twice(server) <= 8
        calls = len(server.calls)
        mb.generate(f"{HERE}:painted", call, tmp_path / "run")
        assert len(server.calls) == calls
        assert not list(run.path.rglob(".medebench-tmp-*"))
