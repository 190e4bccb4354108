from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.grounding.concept import Concept, concept_of, find_concept
from medebench.grounding.concept_tokens import find_token, token_index
from medebench.metrics.metric import Undefined
from medebench.phantoms.drawings import sample
from medebench.phantoms.drawings.phantom_renderer import BY_NAME


@pytest.mark.parametrize(
    ("prompt", "key", "said"),
    [
        ("Remove wisdom teeth.", "wisdom teeth", "wisdom teeth"),
        ("Remove the WISDOM TOOTH, please", "wisdom teeth", "WISDOM TOOTH"),
        ("Erase the two dark moles.", "mole", "moles"),
        ("Open the half-closed eye", "half closed eye", "half-closed eye"),
        ("Restore a cupid’s bow", "cupid's bow", "cupid’s bow"),
        ("Remove the nevi on the cheek", "nevus", "nevi"),
    ],
)
def test_the_cases_concept_wins_where_the_prompt_says_it(prompt: str, key: str, said: str) -> None:
    assert concept_of(prompt, key) == Concept(said, "case")


@pytest.mark.parametrize("key", ["molecule", "mole map", "removal", "e", ""])
def test_only_whole_words_are_the_concept(key: str) -> None:
    assert concept_of("Remove the mole.", key) == Concept("mole", "prompt")


@pytest.mark.parametrize(
    ("prompt", "concept"),
    [
        ("Remove wisdom teeth.", "wisdom teeth"),
        ("Erase the stitched scar across the bridge of the nose.", "stitched scar"),
        ("Clear the eye redness so the white of the eye looks healthy.", "eye redness"),
        ("Make the waist narrower and flatten the belly.", "waist"),
        ("Please take out all four wisdom teeth on this film.", "wisdom teeth"),
        ("Can you remove the polyp?", "polyp"),
        ("Could you please make the lips a bit fuller?", "lips"),
        ("The teeth should be whiter", "teeth"),
        ("I want the teeth whiter.", "teeth"),
        ("There should be no scar on the nose", "scar"),
        ("In this radiograph, remove the two third molars.", "third molars"),
        ("Panoramic radiograph: extract the impacted wisdom teeth.", "impacted wisdom teeth"),
        ("Get rid of the acne and leave smooth skin.", "acne"),
        ("Gently smooth out the wrinkles.", "wrinkles"),
        ("Cauterize and remove the neuroendocrine tumor on the rectum.", "neuroendocrine tumor"),
        ("Show the lumen without the bleeding.", "bleeding"),
        ("Show the abdomen without any trace of an operation.", "abdomen"),
        ("Give the ring finger a healthy fingernail.", "healthy fingernail"),
        ("Give the trunk a narrow, athletic contour.", "trunk"),
        ("Increase the fullness of the lips.", "lips"),
        ("Add volume to the lips.", "lips"),
        ("Perform lip augmentation slightly.", "lip"),
        ("Perform liposuction to remove excess fat.", "excess fat"),
        ("Body liposuction and skin tightening for arms.", "arms"),
        ("Use bone screws to fix the fractured bone.", "fractured bone"),
        ("Edit the image to remove the scar.", "scar"),
        ("Take the yellow and brown deposits off the enamel.", "yellow and brown deposits"),
        ("Restore a soft, normal lobe in place of the growth.", "normal lobe"),
        ("Set the broken radius straight and hold it with screws.", "broken radius"),
        ("Make the ring finger straight.", "ring finger"),
        ("Remove upper eyelid styes (chalazion) to make the eyelid normal.", "upper eyelid styes"),
        ("Eliminate the scar located on the chin", "scar"),
        ("Show the back of the head with complete hair.", "head"),
    ],
)
def test_the_rule(prompt: str, concept: str) -> None:
    assert concept_of(prompt) == Concept(concept, "prompt")


@pytest.mark.parametrize("prompt", ["", "Remove", "Renew the", "!?", "Develop a"])
def test_a_prompt_that_names_nothing_has_none(prompt: str) -> None:
    with pytest.raises(Undefined, match="nothing to edit"):
        concept_of(prompt)


def _phantom_texts() -> list[tuple[str, str, str]]:
    found = {}
    for index in range(300):
        spec = sample(index)
        texts = BY_NAME[spec.organ, spec.task].texts(spec.params)
        first, second, _ = spec.params["phrases"]
        prompts, others = texts["prompts"], texts["rephrased_prompts"]
        prompt, rephrased = prompts[first % len(prompts)], others[second % len(others)]
        found[prompt, rephrased] = (prompt, rephrased, texts["key_concept"])
    return list(found.values())


def test_the_rule_finds_the_concept_of_the_phantoms() -> None:
    """Told nothing but the prompt, the rule ends at the key concept's last word nearly always."""
    texts = _phantom_texts()
    hits = 0
    for prompt, rephrased, key in texts:
        assert concept_of(prompt, key).source == "case"
        assert concept_of(rephrased).text in rephrased
        found = concept_of(prompt).text
        hits += find_concept(found, key.split()[-1]) is not None
    assert hits / len(texts) > 0.95


def test_the_rule_reads_the_released_prompts(excerpt: Path) -> None:
    metadata = next(excerpt.rglob("editing_metadata.json"))
    for case in json.loads(metadata.read_text())["samples"]:
        assert concept_of(case["prompt"]).text in case["prompt"]


@given(st.text(max_size=60), st.text(max_size=12))
def test_any_text_has_a_concept_of_its_own_or_a_reason(prompt: str, key: str) -> None:
    try:
        concept = concept_of(prompt, key)
    except Undefined:
        return
    assert concept.text and concept.text in prompt
    assert find_concept(prompt, concept.text) is not None


PROMPT = "Remove the wisdom teeth, please."


@pytest.fixture(scope="module")
def tiny() -> Any:
    pytest.importorskip("diffusers")
    from tests import tiny_pipelines

    return tiny_pipelines


def test_the_last_sub_token_of_clip(tiny: Any) -> None:
    tokenizer = tiny._clip_tokenizer()
    ids = tokenizer(PROMPT).input_ids
    place = token_index(tokenizer, PROMPT, "wisdom teeth")
    assert tokenizer.decode([ids[place]]) == "teeth" and place == 4
    with pytest.raises(Undefined, match="does not mention 'scar'"):
        token_index(tokenizer, PROMPT, "scar")


def test_the_last_sub_token_of_t5(tiny: Any) -> None:
    tokenizer = tiny._t5_tokenizer()
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(PROMPT).input_ids)
    place = token_index(tokenizer, PROMPT, "wisdom teeth", max_length=512)
    assert tokens[place - 1 : place + 1] == ["▁te", "eth"]


def test_a_concept_behind_the_end_is_undefined(tiny: Any) -> None:
    tokenizer = tiny._clip_tokenizer()
    long = "the " * 80 + PROMPT
    with pytest.raises(Undefined, match="'wisdom teeth' lies beyond the model's 77-token limit"):
        token_index(tokenizer, long, "wisdom teeth")
    # 75 words fit between the first and the last special token.
    assert token_index(tokenizer, "the " * 74 + "teeth the", "teeth") == 75
    with pytest.raises(Undefined):
        token_index(tokenizer, "the " * 75 + "teeth", "teeth")


def test_an_index_from_the_end_ignores_what_a_template_puts_before(tiny: Any) -> None:
    tokenizer = tiny._qwen_tokenizer()
    suffix = "<|im_end|>\n<|im_start|>assistant\n"
    place = token_index(tokenizer, PROMPT, "wisdom teeth", suffix=suffix)
    ids = tokenizer("<|im_start|>user\n<|vision_end|>" + PROMPT + suffix).input_ids
    assert place < 0 and tokenizer.decode([ids[place]]) == "teeth"


class _Slow:
    """A tokenizer that knows no offsets, as those of transformers 4 did."""

    is_fast = False

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.model_max_length = tokenizer.model_max_length

    def __call__(self, text: str, **options: Any) -> Any:
        assert "return_offsets_mapping" not in options
        return self._tokenizer(text, **options)


@pytest.mark.parametrize("make", ["_clip_tokenizer", "_t5_tokenizer"])
@pytest.mark.parametrize("concept", ["wisdom teeth", "wisdom", "please"])
def test_a_tokenizer_without_offsets_gives_the_same_place(
    tiny: Any, make: str, concept: str
) -> None:
    tokenizer = getattr(tiny, make)()
    assert token_index(_Slow(tokenizer), PROMPT, concept) == token_index(tokenizer, PROMPT, concept)
    with pytest.raises(Undefined, match="lies beyond"):
        token_index(_Slow(tokenizer), PROMPT, concept, max_length=3)


def test_the_instruction_inside_a_longer_prompt(tiny: Any) -> None:
    tokenizer = tiny._clip_tokenizer()
    pipe = type("Pipe", (), {"tokenizer": tokenizer, "unet": object()})()
    prompt = "the left image keeps the teeth and in the right image whiten the teeth"
    first = find_token(pipe, prompt, "teeth")
    second = find_token(pipe, prompt, "teeth", instruction="whiten the teeth")
    assert first.text == second.text == "teeth" and first.index < second.index
    assert first.concept == "teeth"
