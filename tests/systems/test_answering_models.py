"""Models behind APIs that answer in words, and those that answer with a picture and words."""

from __future__ import annotations

import io
import json
import re
import shlex

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases import Case
from medebench.cases.choice_options import read_options
from medebench.errors import InputError, NotReadyError
from medebench.models import Reply
from medebench.models.answers.characters import uniform
from medebench.systems import find_system
from medebench.systems.answer_prompts import ANSWER, question_text
from medebench.systems.request import NotTried, Refused
from tests.conftest import REPOSITORY, draw
from tests.models.drawing_server import DrawingServer, encoded, reply
from tests.models.server import FakeServer, always, in_turn, mixture
from tests.patience import PATIENCE, TROUBLED
from tests.systems import asked
from tests.systems.asked import HERE, KEY, request, rows_of, text_of

VENDORS = ["openai", "anthropic", "gemini"]


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    asked.surround(tmp_path, monkeypatch)


class Unified(DrawingServer):
    """Also draws without a word, when it is told to."""

    def draw(self, behaviour, call):
        if behaviour == "wordless":
            self.drawn["wordless"] += 1
            return 200, reply(call, [encoded(draw(1))])
        if behaviour == "cut_words":
            self.drawn[call.texts[-1]] += 1
            return 200, reply(call, [encoded(draw(1))], "It shows", "MAX_TOKENS")
        return super().draw(behaviour, call)


def system_at(server, kind="openai", **given):
    given = {"model": "model", "base_url": server.base_url(kind), "timeout": PATIENCE, **given}
    return find_system(kind, given).system


def answered(server, case, kind="openai", gives=("text",), **given):
    system = system_at(server, kind, **given)
    try:
        return system.generate(request(case, *gives))
    finally:
        system.close()


@pytest.mark.parametrize("kind", VENDORS)
def test_a_judge_is_also_a_system_that_answers(kind):
    case = asked.question()
    with FakeServer(answer=lambda call: "The answer is A.") as server:
        output = answered(server, case, kind)
    assert output.text == "The answer is A." and output.image is None
    (call,) = server.calls
    assert call.texts[0] == ANSWER.system and len(call.images) == 1
    with Image.open(io.BytesIO(call.images[0])) as sent:
        assert np.array_equal(np.asarray(sent), draw(1))
    said = call.texts[-1]
    assert said.startswith(case.prompt) and "A. left\nB. right\nC. upper\nD. lower" in said
    assert said.endswith(ANSWER.endings["letter"])
    detail = output.detail
    assert detail["asked"] == said and detail["prompt"] == f"{ANSWER.label} letter"
    assert detail["prompt"].startswith("answer v1 (") and "said" not in detail
    assert "truncated" not in detail and detail["tokens_in"] == 100 and detail["cost"] == 0.0


KINDS = {
    "gap": Case("1", None, "It lies in the ____ lobe.", task="blank-filling"),
    "report": Case("1", None, "Write a report.", task="report-generation"),
    "free": Case("1", None, "What is seen?", task="question-answering"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_how_to_answer_follows_the_kind_of_question(kind):
    text = question_text(request(KINDS[kind]))
    assert text == f"{KINDS[kind].prompt}\n\n{ANSWER.endings[kind]}"


def test_options_are_listed_once_and_with_their_letters():
    bare = Case("1", None, "Is it on the left or the right?", choices=("left", "right"))
    assert "Options:\nA. left\nB. right\n" in question_text(request(bare))
    listed = "Which side?\nOptions:\nA. left\nB: Right"
    given = Case("1", None, listed, choices=("A. left", "B. right"))
    assert question_text(request(given)).count("left") == 1
    for options in (("(A) one", "(B) two"), ("A. E. coli", "B. S. aureus")):
        assert tuple(one.line for one in read_options(options)) == options
    bare = read_options(("E. coli", "S. aureus"))
    assert [one.line for one in bare] == ["A. E. coli", "B. S. aureus"]
    # The words hold no key to the answer.
    secret = asked.question(answer="C. upper", key="upper", organ="liver", description="hidden")
    assert question_text(request(secret)) == question_text(request(asked.question()))


@pytest.mark.parametrize("kind", VENDORS)
def test_several_images_arrive_separately_or_on_one_sheet(kind):
    case = asked.question(images={"second": asked.picture(2), "third": asked.picture(3)})
    with FakeServer(answer=lambda call: "A") as server:
        apart = answered(server, case, kind)
        sheet = answered(server, case, kind, images="sheet")
    first, second = server.calls
    assert len(first.images) == 3 and first.texts[1:4] == ["Image 1:", "Image 2:", "Image 3:"]
    assert [np.asarray(Image.open(io.BytesIO(one))).shape for one in first.images] == [
        (48, 64, 3)
    ] * 3
    assert len(second.images) == 1 and "sheet of 3 numbered images" in second.texts[1]
    assert np.asarray(Image.open(io.BytesIO(second.images[0]))).shape[1] > 128
    assert (apart.detail["images"], apart.detail["images_as"]) == (3, "separate")
    assert sheet.detail["images_as"] == "sheet"


@pytest.mark.parametrize("kind", VENDORS)
def test_an_answer_that_was_cut_says_so_and_is_paid_once(kind):
    with FakeServer(always("length")) as server:
        for _ in range(2):
            output = answered(server, asked.question(), kind)
            assert output.text == '{"sco'
            assert output.detail["truncated"] is True and output.detail["finish"] == "length"
        assert len(server.calls) == 1 and output.detail["cached"] is True
        # More room is another question.
        answered(server, asked.question(), kind, max_tokens=4096)
        assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("", "answered with nothing (stop)"), (" \n", "answered with nothing (stop)")],
)
def test_silence_is_a_reason_after_a_second_try(answer, reason):
    with FakeServer(answer=lambda call: answer) as server:
        with pytest.raises(Refused) as refused:
            answered(server, asked.question())
        assert len(server.calls) == 2 and reason in str(refused.value)
        assert refused.value.detail["tries"] == 2 and "asked" in refused.value.detail


def test_a_refusal_of_the_server_is_a_reason_and_one_in_words_an_answer():
    refusing = pytest.raises(Refused, match="the model refused: I cannot help")
    with FakeServer(always("refusal")) as server, refusing:
        answered(server, asked.question())
    with FakeServer(answer=lambda call: "I'm sorry, I can't help with that.") as server:
        assert answered(server, asked.question()).text.startswith("I'm sorry")


def test_what_a_model_does_not_give_is_refused_before_it_is_paid():
    with FakeServer() as server:
        for gives in (("image",), ("image", "text")):
            with pytest.raises(Refused, match="asks for an image, and model gives text"):
                answered(server, asked.order(), gives=gives)
        for kind, gives in (("gemini", "text"), ("gemini", "image")):
            wants = ("image",) if gives == "text" else ("text",)
            system = system_at(server, kind, gives=gives)
            with pytest.raises(Refused, match=f"and model gives {gives}"):
                system.generate(request(asked.order(), *wants))
        assert server.calls == []


def test_a_model_that_is_listed_for_words_draws_nothing(tmp_path):
    assert find_system("gemini:gemini-2.5-pro").system.gives == ("text",)
    assert find_system("gemini:gemini-2.5-flash-image").system.gives == ("image", "text")
    assert find_system("gemini:unheard-of").system.gives == ("image", "text")
    with pytest.raises(InputError, match="no case asks for only that"):
        mb.generate(f"{HERE}:painted", "gemini:gemini-2.5-pro", tmp_path / "run")


def test_what_a_case_asks_for_decides_the_call(tmp_path):
    with Unified(answer=lambda call: "B") as server:
        call = f"gemini:model,base_url={server.url}"
        run = mb.generate(f"{HERE}:mixed", call, tmp_path / "run")
    rows = rows_of(run)
    assert len(rows) == 18 and all(row.reason is None for row in rows.values())
    there = {path.name for path in run.edits.iterdir()}
    assert {"ask-1_0.txt", "edit-1_0.png", "paint-1_0.png", "paint-1_0.txt"} <= there
    assert len(there) == 6 * 4
    assert text_of(run, "ask-1") == "B" and text_of(run, "paint-1") == "Here it is."
    kinds = [
        call.body.get("generationConfig", {}).get("responseModalities") for call in server.calls
    ]
    assert kinds.count(None) == 6 and kinds.count(["TEXT", "IMAGE"]) == 12
    both = rows["paint-1"].detail
    assert both["prompt"].endswith(" both") and both["input_shown"] is True
    assert both["returned"] == [64, 48] and "Take organ 1 away." in both["asked"]


def test_a_vlm_takes_of_a_mixed_set_what_asks_for_words(tmp_path):
    with FakeServer(answer=lambda call: "B") as server:
        call = f"openai:model,base_url={server.base_url('openai')}"
        run = mb.generate(f"{HERE}:mixed", call, tmp_path / "run")
        assert len(server.calls) == 6 and run.info.cases.of == 18
        again = mb.generate(f"{HERE}:mixed", call, tmp_path / "run")
        other = mb.generate(f"{HERE}:mixed", call, tmp_path / "other")
        assert len(server.calls) == 6
    assert text_of(again, "ask-3") == text_of(other, "ask-3") == "B"
    assert rows_of(other)["ask-3"].detail["cached"] is True


def test_a_model_is_asked_in_rotations_and_each_is_paid_once(tmp_path):
    with FakeServer(answer=lambda call: "A") as server:
        call = f"circular:openai:model,base_url={server.base_url('openai')}"
        run = mb.generate(f"{HERE}:questions", call, tmp_path / "run")
        mb.generate(f"{HERE}:questions", call, tmp_path / "again")
        assert len(server.calls) == 6 * len(asked.SIDES) == len(server.answered)
    assert text_of(run, "ask-1") == "A"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("wordless", "the model answered with a picture and no text"),
        ("words", "the model answered with text only: I am sorry"),
        ("half_picture", "the returned picture"),
        ("no_image", "the model answered with neither picture nor text"),
    ],
)
def test_half_of_a_picture_with_text_is_a_reason(behaviour, reason):
    with Unified(always(behaviour)) as server:
        with pytest.raises(Refused, match=reason) as refused:
            answered(server, asked.order(), "gemini", ("image", "text"))
        assert len(server.calls) == 2 and refused.value.detail["tries"] == 2
    with Unified(in_turn(behaviour, "ok")) as server:
        output = answered(server, asked.order(), "gemini", ("image", "text"))
        assert output.parts == ("image", "text") and output.detail["tries"] == 2


def test_words_beside_a_picture_can_be_cut_too():
    with Unified(always("cut_words")) as server:
        output = answered(server, asked.order(), "gemini", ("image", "text"))
    assert output.text == "It shows" and output.detail["truncated"] is True


def test_a_picture_with_text_is_kept_in_the_shape_it_came_in():
    case = asked.order()
    with Unified(shapes="1:1 96x96") as server:
        output = answered(server, case, "gemini", ("image", "text"), aspect_ratio="none")
    assert output.image.shape == (96, 96, 3) and output.detail["returned"] == [96, 96]


def test_where_more_pixels_are_asked_for_they_are_kept():
    case = asked.change(task="resolution-editing", grid="reference")
    with DrawingServer(always("double")) as server:
        drawn = answered(server, case, "gemini", ("image",))
        padded = answered(server, case, "openai-image", ("image",))
        plain = answered(server, asked.change(), "gemini", ("image",))
    assert drawn.image.shape == padded.image.shape == (96, 128, 3)
    assert plain.image.shape == (48, 64, 3)
    negative = 255 - draw(1)
    assert np.array_equal(padded.image[::2, ::2], negative)


@pytest.mark.parametrize("kind", ["openai-image", "gemini"])
def test_a_painter_is_shown_nothing_and_says_so(kind):
    class Painter(DrawingServer):
        def draw(self, behaviour, call):
            assert call.images == []
            return 200, reply(call, [encoded(draw(9, 30, 30))], "words" if kind == "gemini" else "")

    with Painter() as server:
        output = answered(server, asked.change(), kind, ("image",), input="none")
        (call,) = server.calls
    assert output.image.shape == (30, 30, 3) and output.detail["input_shown"] is False
    assert "Paint one picture" in call.texts[-1] and "Remove artifact 1." in call.texts[-1]
    if kind == "openai-image":
        assert call.path.endswith("/images/generations")
        assert call.body["response_format"] == "b64_json" and call.body["size"] == "1536x1024"


CHAOS = {"429": 0.12, "500": 0.08, "hang": 0.02, "cut": 0.03, "empty": 0.04, "nothing": 0.02}
CHAOS |= {"refusal": 0.06, "length": 0.06, "prose": 0.06, "wrong": 0.05}


@pytest.mark.parametrize("kind", VENDORS)
def test_every_question_ends_with_an_answer_or_a_reason(kind, tmp_path, monkeypatch):
    monkeypatch.setenv(asked.COUNT, "60")
    with FakeServer(mixture(3, **CHAOS), latency=0.002) as server:
        settings = {"model": "model", "base_url": server.base_url(kind), "timeout": TROUBLED}
        settings |= {"at_once": 16}
        cases = f"{HERE}:questions"
        run = mb.generate(cases, kind, tmp_path / "run", settings=settings)
        rows = rows_of(run)
        assert len(rows) == 60
        for case_id, row in rows.items():
            there = (run.edits / f"{case_id}_0.txt").is_file()
            assert there == (row.reason is None) == (row.sha256 is not None)
            if row.reason:
                assert row.reason.startswith(("the model refused", "the model could not be asked"))
        assert server.count("length") and server.count("refusal"), server.log
        cut = [row for row in rows.values() if row.detail.get("truncated")]
        assert cut and max(server.answered.values()) == 1
        calls = len(server.calls)
        mb.generate(cases, kind, tmp_path / "run", settings=settings)
        assert len(server.calls) == calls


def test_a_key_of_nobody_ends_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotReadyError, match="ANTHROPIC_API_KEY"):
        mb.generate(f"{HERE}:questions", "anthropic:model", tmp_path / "run")
    with FakeServer(always("401")) as server:
        system = system_at(server, "openai")
        with pytest.raises(NotTried):
            system.generate(request(asked.question()))
        system.close()


def test_the_key_is_in_no_file(tmp_path):
    with FakeServer(in_turn("echo400", "echo500", "ok"), answer=lambda call: "A") as server:
        call = f"openai:model,base_url={server.base_url('openai')},at_once=1"
        mb.generate(f"{HERE}:questions", call, tmp_path / "run")
        assert KEY in json.dumps([one.headers for one in server.calls])
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_old_runs_of_gemini_are_continued_though_it_has_new_settings(small_set, tmp_path):
    with DrawingServer() as server:
        run = mb.edit(small_set, f"gemini:model,base_url={server.url}", tmp_path / "run")
    new = {"gives", "images", "max_tokens", "input"}
    assert not new & set(run.info.settings)
    chosen = find_system("gemini:model,max_tokens=99,gives=both")
    assert new & set(chosen.settings) == {"max_tokens", "gives"}


OWN = """
from medebench.models import Provider, Reply


class Parrot(Provider):
    vendor = "parrot"
    address = "http://127.0.0.1:9"

    async def send(self, connection, ask, allowed):
        return Reply(f"{self.model}: {ask.parts[-1][:20]}")
"""


def test_a_provider_of_ones_own_answers_too(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    run = mb.generate(f"{HERE}:questions", f"{tmp_path}/mine.py:Parrot:grey", tmp_path / "run")
    assert run.info.editor == "Parrot" and "mine.py" in run.info.origin
    assert text_of(run, "ask-2") == "grey: Which side is lesion"
    assert Reply("x").text == uniform("x")


def test_every_call_in_the_documentation_is_one(monkeypatch):
    page = (REPOSITORY / "docs" / "answering-systems.md").read_text("utf-8")
    commands = [line for line in page.splitlines() if line.startswith("    medebench generate")]
    found = [shlex.split(line) for line in commands]
    calls = [one[one.index("--system") + 1] for one in found]
    kinds = re.compile(r"\| .* \| (VLM|unified|back-end|editor)")
    rows = [line for line in page.splitlines() if kinds.match(line)]
    calls += [call for row in rows for call in re.findall(r"`([\w-]+:?[^`]*)`", row.split("|")[3])]
    plain = [call for call in calls if "…" not in call and call not in ("http:", "command:")]
    assert len(plain) >= 15
    for call in plain:
        find_system(call)
