"""Workers and servers that answer in words: version 2 of the protocol, and old ones beside it."""

from __future__ import annotations

import base64
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.images.picture import encode_png
from medebench.systems import find_system
from medebench.systems.request import Refused
from tests.conftest import draw
from tests.patience import PATIENCE
from tests.systems import asked
from tests.systems.asked import HERE, request, rows_of, text_of
from tests.systems.test_http import Server

WORKERS = Path(__file__).parent / "workers"
PYTHON = shlex.join([sys.executable, "-S", "-E"])


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    asked.surround(tmp_path, monkeypatch)


@pytest.fixture
def worker(tmp_path):
    opened = []

    def make(mode="well", gives="both", script="answers.py", **given):
        command = f"{PYTHON} {WORKERS / script} {mode} {tmp_path / 'heard'}"
        given = {"timeout": PATIENCE, "start_timeout": PATIENCE, "gives": gives, **given}
        opened.append(find_system("command", {"command": command, **given}).system)
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def server():
    with Server() as made:
        import threading

        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.ending.set()
        made.shutdown()
        thread.join(PATIENCE)


def heard(tmp_path):
    return [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]


def test_a_worker_is_told_question_choices_and_images(worker, tmp_path):
    case = asked.question(images={"second": asked.picture(2)})
    output = worker(gives="text").generate(request(case))
    assert output.text == "4 choices, 2 images" and output.image is None
    assert output.detail["worker"] == {"name": "answers"}
    (told,) = heard(tmp_path)
    assert told["medebench"] == 2 and told["gives"] == ["text"]
    assert told["instruction"] == case.prompt and told["choices"] == list(asked.SIDES)
    assert [one["role"] for one in told["images"]] == ["previous", "second"]
    assert told["image"] == told["images"][0]["path"]
    assert told["asked"] == output.detail["asked"] and "Reply with its letter" in told["asked"]
    secrets = {"answer", "key", "reference", "organ"}
    assert not secrets & set(told) and "task" not in told


def test_text_image_or_both_as_the_case_asks(worker, tmp_path):
    system = worker()
    assert system.generate(request(asked.question())).parts == ("text",)
    assert system.generate(request(asked.change(), "image")).parts == ("image",)
    both = system.generate(request(asked.order(), "image", "text"))
    assert both.parts == ("image", "text") and np.array_equal(both.image, draw(1))
    assert [one["gives"] for one in heard(tmp_path)] == [["text"], ["image"], ["image", "text"]]


@pytest.mark.parametrize(
    ("mode", "gives", "reason"),
    [
        ("wordless", ("text",), "the worker gave no text"),
        ("wordless", ("image", "text"), "the worker gave no text"),
        ("odd-text", ("text",), "the worker gave no text"),
        ("silent", ("image", "text"), "the worker answered with nothing"),
        ("blind", ("image", "text"), "said it was done, but wrote no picture"),
    ],
)
def test_a_part_that_is_missing_is_a_reason(mode, gives, reason, worker):
    with pytest.raises(Refused, match=reason):
        worker(mode).generate(request(asked.order(), *gives))


def test_what_a_worker_says_of_its_answer_is_kept(worker):
    detail = worker("cut").generate(request(asked.order(), "image", "text")).detail
    assert detail["truncated"] is True and detail["finish"] == "length"
    assert detail["input_shown"] is False and detail["said"] == {"steps": 3}


def test_an_old_worker_edits_as_ever_and_is_asked_no_question(worker, tmp_path):
    system = worker("well", "both", "odd.py")
    edited = system.generate(request(asked.change(), "image"))
    assert np.array_equal(edited.image, draw(1))
    with pytest.raises(Refused, match="speaks version 1 of the protocol; texts, choices and"):
        system.generate(request(asked.question()))
    with pytest.raises(Refused, match="several images need version 2"):
        system.generate(request(asked.change(images={"more": asked.picture(2)}), "image"))


def test_what_is_not_said_to_be_given_is_not_asked_for(worker, tmp_path):
    with pytest.raises(Refused, match="needs gives=both or text"):
        worker(gives="image").generate(request(asked.question()))
    assert not (tmp_path / "heard").exists()
    with pytest.raises(InputError, match="gives image, and no case asks for only that"):
        command = f"command:{PYTHON} {WORKERS / 'answers.py'}"
        mb.generate(f"{HERE}:painted", command, tmp_path / "run")


def test_a_run_of_a_worker_over_mixed_tasks(tmp_path):
    command = f"command:gives=both,{PYTHON} {WORKERS / 'answers.py'}"
    run = mb.generate(f"{HERE}:mixed", command, tmp_path / "run")
    rows = rows_of(run)
    assert len(rows) == 18 and all(row.reason is None for row in rows.values())
    assert text_of(run, "paint-2") == "0 choices, 1 images"
    assert run.info.settings["gives"] == "both"
    old = find_system(f"command:{PYTHON} {WORKERS / 'odd.py'} well")
    assert "gives" not in old.settings


def answering(body, number):
    picture = base64.b64encode(encode_png(draw(5))).decode()
    told = {"id": body["id"], "text": f"{len(body['images'])} images", "image": picture}
    return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()


def at(server, gives="both", **given):
    return find_system("http", {"url": server.url, "gives": gives, **given}).system


def test_a_server_gives_text_image_or_both(server):
    server.plan = answering
    system = at(server)
    case = asked.question(images={"second": asked.picture(2)})
    assert system.generate(request(case)).text == "2 images"
    both = system.generate(request(asked.order(), "image", "text"))
    assert both.text == "1 images" and np.array_equal(both.image, draw(5))
    system.close()
    first = server.calls[0]
    assert first["medebench"] == 2 and first["gives"] == ["text"]
    sent = [base64.b64decode(one["image_png"]) for one in first["images"]]
    assert sent == [encode_png(draw(1)), encode_png(draw(2))]
    assert first["image_png"] == first["images"][0]["image_png"]


def test_a_server_may_answer_with_the_bare_text(server):
    server.plan = lambda body, number: (200, {"Content-Type": "text/plain"}, b"B. right")
    system = at(server, "text")
    assert system.generate(request(asked.question())).text == "B. right"
    system.close()


def test_an_old_server_is_posted_what_it_always_was(server):
    seen = []

    def old(body, number):
        seen.append(set(body))
        return 200, {"Content-Type": "image/png"}, base64.b64decode(body["image_png"])

    server.plan = old
    system = at(server, "image")
    assert np.array_equal(system.generate(request(asked.change(), "image")).image, draw(1))
    system.close()
    known = {"medebench", "id", "k", "seed", "instruction", "range", "settings"}
    assert seen == [known | {"image_png", "demonstrations"}]
    assert server.calls[0]["medebench"] == 1


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"text": "words"}, "neither image nor refused"),
        ({"image": ""}, "the worker gave no text"),
        ({"text": 7, "image": ""}, "the worker gave no text"),
    ],
)
def test_half_an_answer_of_a_server_is_a_reason(told, reason, server):
    body = json.dumps(told).encode()
    server.plan = lambda *_: (200, {"Content-Type": "application/json"}, body)
    system = at(server)
    with pytest.raises(Refused, match=reason):
        system.generate(request(asked.order(), "image", "text"))
    system.close()


def test_another_view_keeps_its_shape_and_an_edit_has_that_of_its_input(server):
    wide = base64.b64encode(encode_png(draw(5, 40, 120))).decode()
    body = json.dumps({"text": "a view", "image": wide}).encode()
    server.plan = lambda *_: (200, {"Content-Type": "application/json"}, body)
    system = at(server)
    view = asked.order(task="3d-to-2d-projection")
    for case in (view, asked.order()):
        made = system.generate(request(case, "image", "text"))
        assert made.image.shape == (40, 120, 3) and made.detail["returned"] == [120, 40]
    with pytest.raises(Refused, match="returned 120 x 40 for a picture of 64 x 48"):
        system.generate(request(asked.change(), "image"))
    system.close()
