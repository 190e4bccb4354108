"""`transformers:` with a real, tiny model: real tokens are made from pixels and words."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

import medebench as mb
from medebench.cases import CaseSet
from medebench.errors import InputError, NotReadyError
from medebench.systems import find_system
from medebench.systems.answer_prompts import ANSWER
from medebench.systems.request import Refused
from tests.systems import asked
from tests.systems.asked import HERE, request, rows_of, text_of

tiny = pytest.importorskip("tests.tiny_vlm", exc_type=ImportError)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tiny.tiny_vlm(tmp_path_factory.mktemp("vlm") / "tiny")


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    asked.surround(tmp_path, monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def vlm(folder):
    opened = []

    def make(**given):
        given = {"model": str(folder), "max_new_tokens": 12, "device": "cpu", **given}
        chosen = find_system("transformers", given)
        chosen.require_ready()
        opened.append(chosen.system)
        return chosen.system

    yield make
    for one in opened:
        one.close()


def test_words_come_from_pixels_and_question(vlm):
    system = vlm()
    first = system.generate(request(asked.question(1)))
    assert first.text and first.image is None
    assert system.generate(request(asked.question(1), seed=99)).text == first.text
    others = [replace(asked.question(1), previous=asked.picture(n)) for n in (2, 3, 4, 5)]
    assert {system.generate(request(one)).text for one in others} != {first.text}
    assert system.generate(request(asked.question(1, prompt="Else?"))).text != first.text
    detail = first.detail
    assert detail["prompt"] == f"{ANSWER.label} letter" and "A. left" in detail["asked"]
    assert (detail["device"], detail["dtype"]) == ("cpu", "float32")
    # A token for each byte of system and question, and 64 for the picture.
    assert detail["tokens_in"] > len(ANSWER.system) + len(detail["asked"]) + 64


def test_what_is_cut_says_so_and_what_ends_does_not(vlm, monkeypatch):
    system = vlm()
    output = system.generate(request(asked.question()))
    assert output.detail["tokens_out"] == 12
    assert output.detail["truncated"] is True and output.detail["finish"] == "length"
    # A letter of its answer that ends it.
    model, last = system._model, next(one for one in output.text if one != output.text[0])
    (end,) = model._processor.tokenizer(last)["input_ids"]
    monkeypatch.setattr(model._network.generation_config, "eos_token_id", [2, end])
    ended = system.generate(request(asked.question()))
    assert "truncated" not in ended.detail and "finish" not in ended.detail
    assert ended.text == output.text[: output.text.index(last)]
    assert ended.detail["tokens_out"] == len(ended.text)


def test_a_batch_gives_what_each_gives_alone(vlm):
    two = {"second": asked.picture(8)}
    cases = [asked.question(1), asked.question(2, images=two), asked.question(3, prompt="Why?")]
    together = vlm(batch=3).generate_batch([request(one) for one in cases])
    alone = vlm()
    assert [one.text for one in together] == [alone.generate(request(c)).text for c in cases]
    assert together[1].detail["images"] == 2 and together[1].detail["images_as"] == "separate"
    sheet = vlm(images="sheet").generate(request(cases[1]))
    assert sheet.detail["images_as"] == "sheet" and sheet.text != together[1].text


def test_drawn_words_follow_the_seed(vlm):
    system = vlm(temperature=1.5, batch=4)
    said = [system.generate(request(asked.question(), seed=one)).text for one in (1, 2, 1)]
    assert said[0] == said[2] != said[1]
    batch = [request(asked.question(), seed=one) for one in (1, 2)]
    assert [one.text for one in system.generate_batch(batch)] == said[:2]


def test_a_run_over_a_set_of_mixed_tasks(folder, tmp_path):
    call = f"transformers:{folder},max_new_tokens=8,batch=4,device=cpu"
    run = mb.generate(f"{HERE}:mixed", call, tmp_path / "run")
    rows = rows_of(run)
    assert set(rows) == {f"ask-{number}" for number in range(1, 7)}
    for case_id, row in rows.items():
        assert row.reason is None and text_of(run, case_id)
    assert run.info.settings["model"] == str(folder) and "sha256" in run.info.origin
    assert "batch" not in run.info.settings


def test_an_image_is_not_what_it_gives(vlm):
    with pytest.raises(Refused, match="asks for an image"):
        vlm().generate(request(asked.order(), "image", "text"))


def test_a_picture_that_cannot_be_read_spoils_only_its_case(vlm, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    bad = replace(asked.question(2), previous=broken)
    made = vlm(batch=2).generate_batch([request(bad), request(asked.question(1))])
    assert isinstance(made[0], Refused) and "broken.png" in str(made[0])
    assert made[1].text


def test_a_template_without_system_gets_the_words_from_the_user(tmp_path):
    folder = tiny.tiny_vlm(tmp_path / "no-system", tiny.NO_SYSTEM)
    system = find_system("transformers", {"model": str(folder), "max_new_tokens": 4}).system
    output = system.generate(request(asked.question()))
    assert output.detail["tokens_in"] > len(ANSWER.system)
    system.close()


def damaged(folder, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    change(copy)
    return copy


def _edit_json(path, **given):
    path.write_text(json.dumps({**json.loads(path.read_text()), **given}))


DAMAGES = {
    "no config": (lambda one: (one / "config.json").unlink(), "has no config.json"),
    "no processor": (lambda one: (one / "processor_config.json").unlink(), "no processor for"),
    "no weights": (lambda one: (one / "model.safetensors").unlink(), "there are no weights"),
    "own code": (
        lambda one: _edit_json(
            one / "config.json", model_type="my-own", auto_map={"AutoConfig": "own.Own"}
        ),
        "run it as a worker|does not load",
    ),
    "no template": (lambda one: (one / "chat_template.jinja").unlink(), "no chat template"),
    "other kind": (
        lambda one: _edit_json(one / "config.json", model_type="bert"),
        "does not load|its processor",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_what_cannot_be_loaded_is_one_line_and_leaves_no_run(kind, folder, tmp_path):
    change, words = DAMAGES[kind]
    copy = damaged(folder, tmp_path, change)
    cases = CaseSet("one", tmp_path, (asked.question(),), f"{HERE}:questions", task="vqa")
    with pytest.raises((InputError, NotReadyError), match=words) as error:
        mb.generate(cases, f"transformers:{copy}", tmp_path / "run")
    assert "\n" not in str(error.value) and not (tmp_path / "run").exists()


def test_nothing_is_downloaded_unless_it_is_said(monkeypatch):
    def nobody(*given, **named):
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", nobody)
    (problem,) = find_system("transformers:Qwen/Qwen3-VL-8B-Instruct").system.problems()
    assert "not on this machine" in problem and "weights get Qwen/Qwen3-VL-8B-Instruct" in problem
    assert find_system("transformers:a/b,download=true").system.problems() == []
