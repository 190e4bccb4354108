"""`composed:`: a model rewrites the instruction, over a real connection to a local server."""

from __future__ import annotations

import json
import shutil

import pytest

import medebench as mb
from medebench.errors import InputError, NotReadyError
from medebench.models import encode_for_model
from medebench.phantoms.drawings import write_phantoms
from medebench.runs.generate_run import NotAllTriedError, estimate_generation
from medebench.systems import find_system
from tests.conftest import write_set
from tests.models.server import FakeServer, always, in_turn, mixture
from tests.systems.wrapped import (
    KEY,
    NEW,
    at,
    details,
    everything_in,
    files,
    order,
    outputs,
    saying,
    surround,
    write_editors,
)

pytest.importorskip("openai")


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    surround(tmp_path, monkeypatch)


@pytest.fixture
def named(tmp_path):
    return write_editors(tmp_path)


def compose(server, inner, model="openai:test", **own):
    given = "".join(f"{key}={value}," for key, value in own.items())
    return f"composed:{at(server)},{given}{model}+{inner}"


def test_both_texts_stand_in_the_ledger(small_set, tmp_path, named):
    with saying(order(NEW)) as server:
        run = mb.edit(small_set, compose(server, named("Echo")), tmp_path / "run")
        assert len(server.calls) == 4
    for (case_id, _), row in outputs(run).items():
        detail = row.detail
        assert detail["asked"] == f"Remove the mole number {case_id}."
        assert detail["instruction"] == NEW
        assert detail["inner"]["told"] == NEW and detail["inner"]["seed"] == row.seed
        rewriter = detail["rewriter"]
        assert rewriter["model"] == "openai:test" and rewriter["answered_by"] == "gpt-test-001"
        assert rewriter["instruction"].startswith("order-for-editor v1 (")
        assert (rewriter["tokens_in"], rewriter["tokens_out"]) == (100, 10)
        assert (rewriter["tries"], rewriter["cached"], rewriter["cost"]) == (1, False, 0.0)
        assert detail["attention"] == {"concept": "mole"}
        assert run.attention_path(case_id, 0).is_file()
    assert run.info.sees == ["roi"] and run.info.judged_by == "" and not run.info.control


def test_the_model_sees_picture_and_instruction_only(small_set, tmp_path):
    with saying(order(NEW)) as server:
        mb.edit(small_set, compose(server, "identity"), tmp_path / "run")
        known = {
            encode_for_model(mb.open_case(case).previous).data: case.prompt
            for case in mb.load_cases(small_set)
        }
        for call in server.calls:
            (picture,) = call.images
            told = "\n".join(call.texts)
            assert known.pop(picture) in told
            for word in ("photograph in which", "Skin", "Teeth", "Whiten", ".png", str(tmp_path)):
                assert word not in told
        assert known == {}


def test_a_real_editor_inside(tmp_path):
    phantoms = write_phantoms(tmp_path / "phantoms", 2, workers=1)
    with saying(order("Take the dark spots off the skin and leave all else alone.")) as server:
        call = compose(server, "phantom-editor:steps=2,size=64")
        run = mb.edit(phantoms, call, tmp_path / "run")
    plain = mb.edit(phantoms, "phantom-editor:steps=2,size=64", tmp_path / "plain")
    inside = run.info.settings["chain"]["editor"]
    assert inside["name"] == "phantom-editor" and inside["settings"]["size"] == 64
    for (case_id, k), row in outputs(run).items():
        assert row.reason is None and row.detail["inner"]["frame"]
        assert row.detail["attention"] == row.detail["inner"]["attention"]
        assert run.attention_path(case_id, k).is_file()
    # Other words, other picture: the seed is the same.
    assert files(run)["2_0.png"] != files(plain)["2_0.png"]


UNUSABLE = {
    "empty": (order(""), "is empty"),
    "no answer": ("", "the answer is empty"),
    "no JSON": ("Remove it, please.", "no JSON object"),
    "another key": ('{"order": "Remove the dark spot."}', "no JSON object"),
    "too long": (order("dark spot " * 40), "has 80 words; at most 60"),
    "the question": (order("remove the MOLE number 1"), "merely repeats"),
    "the form": (order("<the order>"), "placeholder"),
    "two words": (order("Remove it."), "fewer than 3 words"),
    "a file": (order("Copy the skin out of clean.png over the spot."), "names a file"),
    "not English": (order("Удалите тёмное пятно в середине"), "not written in English"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_three_unusable_answers_are_a_reason(kind, make_set, tmp_path):
    answer, problem = UNUSABLE[kind]
    with saying(answer) as server:
        run = mb.edit(make_set(1), compose(server, "identity"), tmp_path / "run")
        assert len(server.calls) == 3
        assert problem in server.calls[-1].texts[-1]
    (row,) = outputs(run).values()
    assert row.sha256 is None and "no usable answer in 3 tries" in row.reason
    assert problem in row.reason
    assert row.detail["rewriter"]["tries"] == 3 and row.detail["rewriter"]["tokens_in"] == 300
    assert "instruction" not in row.detail and files(run) == {}


GOOD = {
    "fenced": f"```json\n{order(NEW)}\n```",
    "in prose": f"Certainly!\n{order(NEW)}\nI hope this helps.",
    "after thoughts": f"<think>{order('A first draft of mine.')}</think>{order(NEW)}",
    "wrapped": json.dumps({"answer": {"Instruction": NEW}}),
    "over two lines": json.dumps({"instruction": NEW.replace("; ", ";\n ")}),
}


@pytest.mark.parametrize("form", GOOD)
def test_forms_of_good_answers(form, make_set, tmp_path):
    with saying(GOOD[form]) as server:
        run = mb.edit(make_set(1), compose(server, "identity"), tmp_path / "run")
        assert len(server.calls) == 1
    assert details(run)[0]["instruction"] == NEW


def test_what_was_accepted_in_the_end_is_not_asked_for_again(make_set, tmp_path):
    cases = make_set(1)
    with saying(order("dark spot " * 40), order(NEW)) as server:
        run = mb.edit(cases, compose(server, "identity"), tmp_path / "run")
        assert details(run)[0]["rewriter"]["tries"] == 2
        again = mb.edit(cases, compose(server, "identity"), tmp_path / "again")
        assert len(server.calls) == 2
    assert details(again)[0]["instruction"] == NEW
    assert details(again)[0]["rewriter"]["cached"] is True


@pytest.mark.parametrize("plan", ["refusal", "ok"])
def test_a_refusal_is_a_reason(plan, make_set, tmp_path):
    with FakeServer(
        always(plan), answer=lambda call: "I'm sorry, I can't help with that."
    ) as server:
        run = mb.edit(make_set(1), compose(server, "identity"), tmp_path / "run")
        assert len(server.calls) == 3
    (row,) = outputs(run).values()
    assert row.reason == "no rewritten instruction: the model refused to answer"


def test_a_server_in_trouble(tmp_path):
    cases = write_set(tmp_path / "set", 24)
    with FakeServer(mixture(5, **{"429": 0.2, "500": 0.15}), answer=lambda c: order(NEW)) as server:
        run = mb.edit(cases, compose(server, "identity"), tmp_path / "run", outputs=2)
        assert server.count("429") > 0 and server.count("500") > 0
        # The two outputs of a case share their question, and nothing is answered twice.
        assert server.count("ok") == 24 and max(server.answered.values()) == 1
    assert len(files(run)) == 48
    assert all(row.reason is None for row in outputs(run).values())


def test_a_server_that_fails_for_good_is_a_reason(make_set, tmp_path):
    with FakeServer(always("400")) as server:
        run = mb.edit(make_set(1), compose(server, "identity"), tmp_path / "run")
    (row,) = outputs(run).values()
    assert "no rewritten instruction: HTTP 400" in row.reason


def test_nothing_is_asked_twice(small_set, tmp_path):
    with saying(order(NEW)) as server:
        run = mb.edit(small_set, compose(server, "noise"), tmp_path / "run")
        before = files(run)
        mb.edit(small_set, compose(server, "noise"), tmp_path / "run")
        assert len(server.calls) == 4
        run.output_path("2", 0).unlink()
        mb.edit(small_set, compose(server, "noise"), tmp_path / "run")
        assert len(server.calls) == 4 and files(run) == before
        shutil.rmtree(tmp_path / "cache")
        run.output_path("2", 0).unlink()
        mb.edit(small_set, compose(server, "noise"), tmp_path / "run")
        assert len(server.calls) == 5


def test_no_money_left_writes_nothing_about_a_case(small_set, tmp_path):
    with saying(order(NEW)) as server:
        plain = compose(server, "identity", "openai:priced")
        plan = estimate_generation(small_set, plain, tmp_path / "run")
        assert plan.calls == 4 and plan.cost > 0 and len(server.calls) == 0
        # A call costs 110 tokens here; room for the most one may cost, and one that did less.
        limit = plan.most / 4 + 0.11
        limited = compose(server, "identity", "openai:priced", max_cost=limit)
        with pytest.raises(NotAllTriedError, match="2 outputs were not tried: openai:priced: the"):
            mb.edit(small_set, limited, tmp_path / "run")
        run = mb.open_run(tmp_path / "run")
        assert len(server.calls) == len(outputs(run)) == len(files(run)) == 2
        assert sum(one["rewriter"]["cost"] for one in details(run)) == pytest.approx(0.22)
        # The limit is no part of what the run is.
        mb.edit(small_set, plain, tmp_path / "run")
        assert len(server.calls) == len(outputs(run)) == 4


def test_a_limit_needs_a_price(make_set, tmp_path):
    call = "composed:max_cost=1,base_url=https://example.org/v1,openai:unheard-of+identity"
    with pytest.raises(InputError, match="no known price"):
        mb.edit(make_set(1), call, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("behaviour", ["401", "404", "quota"])
def test_troubles_of_the_whole_run_write_nothing(behaviour, small_set, tmp_path):
    with FakeServer(always(behaviour)) as server:
        with pytest.raises(NotAllTriedError, match="4 outputs were not tried"):
            mb.edit(small_set, compose(server, "identity"), tmp_path / "run")
        server.plan, server.answer = always("ok"), lambda call: order(NEW)
        run = mb.edit(small_set, compose(server, "identity"), tmp_path / "run")
    assert len(files(run)) == 4


def test_a_refusal_inside_keeps_what_was_written(make_set, tmp_path, named):
    with saying(order(NEW)) as server:
        run = mb.edit(make_set(1), compose(server, named("Refusing")), tmp_path / "run")
        broken = mb.edit(make_set(1), compose(server, named("Broken")), tmp_path / "b", outputs=2)
    (row,) = outputs(run).values()
    assert row.reason == "not this one" and row.detail["inner"] == {"said": "no"}
    assert row.detail["instruction"] == NEW and row.detail["rewriter"]["cost"] == 0.0
    first, second = outputs(broken).values()
    assert first.reason == "ZeroDivisionError: division by zero"
    assert second.reason.startswith("the editor returned a dict")
    assert first.detail["instruction"] == second.detail["instruction"] == NEW


def test_what_is_paid_for_a_refusal_is_counted(make_set, tmp_path, named):
    cases = make_set(1)
    # A call costs 0.11 here.
    with saying(order("x")) as server:
        call = compose(server, "identity", "openai:priced")
        run = mb.edit(cases, call, tmp_path / "unusable")
        with run.ledger() as ledger:
            assert ledger.editing_cost() == pytest.approx(3 * 0.11)
    with saying(order(NEW)) as server:
        call = compose(server, named("Dear"), "openai:priced")
        run = mb.edit(cases, call, tmp_path / "inside")
    (row,) = outputs(run).values()
    assert row.reason == "not for this money" and row.detail["inner"] == {"cost": 0.5}
    with run.ledger() as ledger:
        assert ledger.editing_cost() == pytest.approx(0.11 + 0.5)


def test_what_is_passed_on(tmp_path, named, monkeypatch):
    chosen = find_system(f"composed:openai:test+{named('Echo')}")
    editor, inner = chosen.system, chosen.system._inner
    assert (editor.at_once, editor.demonstrations, chosen.system.sees) == (12, 0, ("roi",))
    assert find_system("composed:openai:test+blur").system.at_once == 8
    chosen.system.prepare()
    chosen.system.close()
    assert (inner.prepared, inner.closed) == (1, 1)
    lacking = find_system(f"composed:openai:test+{named('Lacking')}")
    assert lacking.system.problems() == ["Lacking: no weights; fetch them"]
    assert lacking.system.demonstrations == 2
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.chdir(tmp_path)
    lacking = find_system(f"composed:openai:test+{named('Lacking')}")
    assert "OPENAI_API_KEY" in lacking.system.problems()[0] and len(lacking.system.problems()) == 2
    with pytest.raises(NotReadyError, match="OPENAI_API_KEY"):
        lacking.require_ready()
    lacking.system.close()


def test_an_editor_that_owns_a_device_is_called_by_one_at_a_time(tmp_path, named):
    cases = write_set(tmp_path / "set", 16)
    with saying(order(NEW)) as server:
        chosen = find_system(compose(server, named("Batched")))
        run = mb.edit(cases, chosen, tmp_path / "run")
    assert len(files(run)) == 16
    assert type(chosen.system._inner).most == 1


@pytest.mark.parametrize("room", [1, 3])
def test_an_editor_inside_is_called_by_no_more_than_it_says(room, tmp_path, named):
    cases = write_set(tmp_path / "set", 16)
    with saying(order(NEW)) as server:
        chosen = find_system(compose(server, f"{named('Few')}:room={room}"))
        run = mb.edit(cases, chosen, tmp_path / "run")
    # The model is asked by more of them all the same.
    assert chosen.system.at_once == 8 and len(files(run)) == 16
    assert chosen.system._inner.most == room


def test_other_settings_inside_are_another_run(make_set, tmp_path):
    cases = make_set(1)
    with saying(order(NEW)) as server:
        run = mb.edit(cases, compose(server, "blur:sigma=2"), tmp_path / "run")
        inside = {"name": "blur", "settings": {"sigma": 2.0}}
        assert run.info.settings["chain"] == {"model": "openai:test", "editor": inside}
        with pytest.raises(InputError, match="holds another run"):
            mb.edit(cases, compose(server, "blur:sigma=3"), tmp_path / "run")
        with pytest.raises(InputError, match="holds another run"):
            mb.edit(cases, compose(server, "blur:sigma=2", "openai:other"), tmp_path / "run")
        assert server.url in find_system(compose(server, "blur")).system.identity()


def test_another_class_of_the_same_file_is_another_run(make_set, tmp_path, named):
    cases = make_set(1)
    with saying(order(NEW)) as server:
        mb.edit(cases, compose(server, named("Echo")), tmp_path / "run")
        with pytest.raises(InputError, match="holds another run"):
            mb.edit(cases, compose(server, named("Refusing")), tmp_path / "run")
        with (tmp_path / "wrapped_editors.py").open("a") as file:
            file.write("# changed\n")
        with pytest.raises(InputError, match="holds another run"):
            mb.edit(cases, compose(server, named("Echo")), tmp_path / "run")


def test_money_inside_can_be_raised(make_set, tmp_path):
    cases = make_set(1)
    with FakeServer() as server:
        server.answer = lambda call: order(f"{NEW} This is answer {len(server.calls)}.")

        def call(money):
            inside = f"composed:{at(server)},max_cost={money},openai:priced+blur"
            return compose(server, inside, "openai:priced")

        with pytest.raises(NotAllTriedError, match="the next call may cost"):
            mb.edit(cases, call(0.0001), tmp_path / "run")
        assert outputs(mb.open_run(tmp_path / "run")) == {}
        run = mb.edit(cases, call(100), tmp_path / "run")
    assert len(files(run)) == 1 and run.info.how["inner"]["max_cost"] == 0.0001


def test_secrets_of_the_address_reach_the_server_and_no_file(make_set, tmp_path):
    plan = in_turn("ok", "echo400")
    with FakeServer(plan, answer=lambda call: order(NEW)) as server:
        plain = server.base_url("openai")
        secret = plain.replace("http://", "http://anna:pass-word-99@") + "?key=query-key-42"
        call = f"composed:base_url={secret},openai:test+blur"
        run = mb.edit(make_set(2), call, tmp_path / "run")
        assert all("key=query-key-42" in call.path for call in server.calls)
    assert run.info.settings["base_url"] == plain and len(outputs(run)) == 2
    assert "pass-word" not in repr(find_system(call).system.settings)
    written = everything_in(tmp_path)
    for word in (b"pass-word-99", b"query-key-42"):
        assert word not in written


def test_the_estimate_adds_that_of_the_editor_inside(small_set, tmp_path, named):
    with saying(order(NEW)) as server:
        call = compose(server, named("Echo"), "openai:priced")
        both = estimate_generation(small_set, call, tmp_path / "run", outputs=2)
        own = estimate_generation(
            small_set, compose(server, "blur", "openai:priced"), tmp_path / "run", outputs=2
        )
        assert len(server.calls) == 0
    # The second output of a case asks the same question again.
    assert (own.calls, own.cached) == (4, 4)
    assert both.calls == own.calls + 8 and both.cost == pytest.approx(own.cost + 8.0)
    assert both.most == pytest.approx(own.most + 16.0)


def test_unreadable_pictures_are_no_calls(small_set, tmp_path):
    (small_set / "editing" / "previous" / "2.png").write_bytes(b"no picture")
    with saying(order(NEW)) as server:
        assert estimate_generation(small_set, compose(server, "blur"), tmp_path / "run").calls == 3
        refine = f"refine:rounds=1,judge=openai:test,{at(server)},blur"
        assert estimate_generation(small_set, refine, tmp_path / "run").calls == 3 * 3
        run = mb.edit(small_set, compose(server, "blur"), tmp_path / "run")
        assert len(server.calls) == 3
    assert [key for key, row in outputs(run).items() if row.reason] == [("2", 0)]


WRONG = {
    "composed": "such as composed:openai:gpt-4o.phantom-editor",
    "composed:words=20": "such as composed:openai:gpt-4o.phantom-editor",
    "composed:openai:gpt-4o": "such as composed:openai:gpt-4o.phantom-editor",
    "composed:openai:gpt-4o,http:http://u:secret@h/": "expected a model and an editor",
    "composed:+blur": "expected a model and an editor",
    "composed:openai:gpt-4o+": "expected a model and an editor",
    "composed:openai:gpt-4o,words=20+blur": "expected a model and an editor",
    "composed:gpt-4o+blur": "expected one of openai:NAME.*write composed:",
    "composed:openai:+blur": "expected one of openai:NAME",
    "composed:openai:gpt-4o+blurr": "no system 'blurr'; did you mean 'blur'",
    "composed:openai:gpt-4o+blur:sigma=x": "editor 'blur': sigma",
    "composed:openai:gpt-4o+blur:words=20": "editor 'blur': no setting 'words'",
    "composed:word=20,openai:gpt-4o+blur": "no setting 'word'; it has: chain, base_url, words",
    "composed:words=0,openai:gpt-4o+blur": "words: Input should be greater",
    "composed:base_url=nowhere,openai:x+blur": "expected something like http://localhost",
    "composed:base_url=ftp://u:secret@h/v1,openai:x+blur": "expected something like http://loc",
    "composed:openai:x+http:ftp://u:secret@h/": "editor 'http': url: .*expected something like",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls_are_told_in_a_line(call):
    with pytest.raises(InputError, match=WRONG[call]) as told:
        find_system(call)
    assert "\n" not in str(told.value) and "secret@" not in str(told.value)


def test_the_key_appears_nowhere(make_set, tmp_path, named):
    cases = make_set(1)
    for number, behaviour in enumerate(["echo400", "echo401", "echo500", "ok"]):
        plan = in_turn(behaviour, behaviour, "ok")
        with FakeServer(plan, answer=lambda call: order(NEW)) as server:
            call = compose(server, named("Echo"))
            try:
                mb.edit(cases, call, tmp_path / f"run{number}")
            except NotAllTriedError as error:
                assert KEY not in str(error)
            assert KEY in json.dumps(server.calls[0].headers)
    places = [*tmp_path.glob("run*/**/*"), *tmp_path.glob("cache/**/*")]
    assert len(places) > 10
    assert not any(KEY.encode() in path.read_bytes() for path in places if path.is_file())
