"""A model as judge behind a server that others wrote: `transformers serve`, with a real network.

The model is drawn at random and knows nothing; what is tested is the line to it. Needs
`pip install torch 'transformers[serving]'`; nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import medebench as mb
from medebench.judge import ModelJudge, find_judge
from medebench.judge.model_judge import COMPLAINTS
from medebench.models import Answer, Ask, encode_for_model, find_client
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages.judge_scores import JudgeLimits
from tests.conftest import draw, write_set
from tests.patience import PATIENCE

NEEDED = ("torch", "transformers", "tokenizers", "accelerate", "fastapi", "uvicorn", "openai")
if lacking := [name for name in NEEDED if find_spec(name) is None]:
    pytest.skip(
        f"transformers serve needs {', '.join(lacking)} (make test installs them)",
        allow_module_level=True,
    )

#: A picture is cut into 4 x 4 patches, each of which is one token of the prompt.
SIDE, PATCH = 28, 7
PICTURE_TOKENS = (SIDE // PATCH) ** 2
SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
#: One token of the vocabulary: the second model says nothing else, the first one never says it.
READABLE = json.dumps(
    {
        "differences": ["a mole is gone"],
        "editing_accuracy": {"reason": "as wanted", "score": 6.5},
        "visual_quality": {"reason": "a soft seam", "score": 8},
    }
)
TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role }}: {% for p in m.content %}"
    "{% if p.type == 'image' %}<image>{% else %}{{ p.text }}{% endif %}"
    "{% endfor %}</s>{% endfor %}<s>assistant: "
)
#: The server ends by itself, whatever becomes of the test. No look for updates (`main` does).
SERVE = (
    "import os, threading; timer = threading.Timer(3600, os._exit, (1,)); timer.daemon = True; "
    "timer.start(); from transformers.cli.transformers import app; app()"
)


@dataclass(frozen=True)
class Served:
    url: str
    log: Path

    @property
    def answered(self) -> int:
        """By the server's own count."""
        return self.log.read_text().count('"POST /v1/chat/completions HTTP/1.1" 200')


def write_model(folder: Path, **generation: object) -> None:
    """A vision-language model of 60,000 random weights that reads and writes single bytes."""
    import torch
    import transformers as tf
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *letters])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(SPECIAL))
    inner.add_tokens([AddedToken(READABLE, normalized=False)])
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )
    # Of the two that recent releases have, the other one wants torchvision.
    pictures = getattr(tf, "CLIPImageProcessorPil", None) or tf.CLIPImageProcessor
    tf.LlavaProcessor(
        pictures(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}),
        tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)

    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    vision = tf.CLIPVisionConfig(
        **size, num_attention_heads=2, image_size=SIDE, patch_size=PATCH, projection_dim=32
    )
    text = tf.LlamaConfig(
        **size,
        num_attention_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=32768,
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    config = tf.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=3, vision_feature_layer=-1
    )
    model = tf.LlavaForConditionalGeneration(config)
    model.generation_config = tf.GenerationConfig(
        bos_token_id=1, eos_token_id=2, pad_token_id=0, **generation
    )
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(
            "transformers.cli.serve",
            reason="this transformers has no `transformers serve` (make test installs a newer one)",
            exc_type=ImportError,
        )
        readable = len(SPECIAL) + 256
        # The longer they talk the more they want to stop.
        write_model(
            folder / "nonsense",
            suppress_tokens=[readable],
            exponential_decay_length_penalty=(40, 1.3),
        )
        write_model(
            folder / "fluent",
            begin_suppress_tokens=list(range(readable)),
            exponential_decay_length_penalty=(1, 1e6),
        )
    command = [sys.executable, "-c", SERVE, "serve", "--host", "127.0.0.1", "--port", "0"]
    alone = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    small = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    log = folder / "log.txt"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--device", "cpu"],
            cwd=folder,
            env=os.environ | alone | small,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text())):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"transformers serve did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.1)
        yield Served(f"{found[1]}/v1", log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(autouse=True)
def own_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask_all(served: Served, *asks: Ask) -> list[Answer]:
    client = find_client("openai:nonsense", base_url=served.url)

    async def run() -> list[Answer]:
        answers = [await client.ask(ask, timeout=PATIENCE) for ask in asks]
        await client.close()
        return answers

    return asyncio.run(run())


def test_the_pictures_arrive(served):
    one, other = (encode_for_model(draw(seed)) for seed in (1, 2))
    parts = [(), (one,), (other,), (one, other), (one,)]
    asks = [Ask("Look.", ("What is it?", *some), temperature=0.0, max_tokens=200) for some in parts]
    none, first, second, both, again = ask_all(served, *asks)
    # By the server's count of what the model was given, and by what the model made of it.
    counts = [answer.tokens_in - none.tokens_in for answer in (first, second, both)]
    assert counts == [PICTURE_TOKENS, PICTURE_TOKENS, 2 * PICTURE_TOKENS]
    assert len({answer.text for answer in (none, first, second, both)}) == 4
    assert again.text == first.text and again.finish == "stop" and again.tokens_out > 1


def test_an_answer_that_is_cut_off_says_so(served):
    (answer,) = ask_all(served, Ask("Look.", ("What is it?",), temperature=0.0, max_tokens=3))
    assert answer.finish == "length" and answer.tokens_out == 3


@dataclass(frozen=True)
class Judged:
    rows: list[ScoreRow]
    asks: list[Ask]

    @property
    def tokens_in(self) -> int:
        """By the server's count; both scores of an output tell the same calls."""
        return sum(row.detail["tokens_in"] for row in self.rows) // 2


def judge_outputs(served: Served, model: str, tmp_path: Path) -> Judged:
    """Score a run of three outputs, and note what was asked and how often the server answered."""
    run = mb.edit(write_set(tmp_path / "set", 3), "noise", tmp_path / "run")
    judge = find_judge(f"openai:{model}", {"base_url": served.url})
    assert isinstance(judge, ModelJudge)
    send, asks, before = judge.client.ask, [], served.answered

    async def noted(ask: Ask, timeout: float) -> Answer:
        asks.append(ask)
        return await send(ask, timeout)

    judge.client.ask = noted
    mb.score(run, [], judge, limits=JudgeLimits(timeout=PATIENCE))
    assert served.answered - before == len(asks)
    with run.ledger() as ledger:
        rows = list(ledger.scores())
    assert sorted((row.case_id, row.metric) for row in rows) == [
        (case, f"{score}_openai:{model}") for case in "123" for score in ("ea", "vq")
    ]
    return Judged(rows, asks)


def test_nonsense_ends_in_a_reason(served, tmp_path):
    judged = judge_outputs(served, "nonsense", tmp_path)
    tries = 1 + COMPLAINTS
    assert len(judged.asks) == 3 * tries
    for row in judged.rows:
        assert row.value is None
        assert row.reason.startswith(f"the judge's answer could not be read in {tries} tries: ")
        assert row.detail["model"] == "nonsense@main" and row.detail["tokens_out"] > tries
    # The same questions without their pictures: three fewer in every call.
    blind = [replace(a, parts=tuple(p for p in a.parts if type(p) is str)) for a in judged.asks]
    words = sum(answer.tokens_in for answer in ask_all(served, *blind))
    assert judged.tokens_in - words == len(judged.asks) * 3 * PICTURE_TOKENS


def test_what_can_be_read_becomes_a_score(served, tmp_path):
    """The counterpart: the reasons above are the model's doing, not the line's."""
    judged = judge_outputs(served, "fluent", tmp_path)
    assert len(judged.asks) == 3
    for row in judged.rows:
        assert row.reason is None
        assert row.value == pytest.approx(0.65 if row.metric.startswith("ea_") else 0.8)
        assert row.detail["differences"] == ["a mole is gone"]
