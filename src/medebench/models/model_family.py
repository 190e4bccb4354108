"""Whose model it is: models of one family share data and habits, and may favour each other.

The table is of what is publicly known; a model that is not in it has no family, which is no claim
that it stands apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFamily:
    """Models of one maker, and what others have built on them."""

    name: str
    #: Beginnings of names.
    own: tuple[str, ...]
    #: Models of others that are trained from one of these.
    derived: tuple[str, ...] = ()

    @property
    def pattern(self) -> re.Pattern[str]:
        names = "|".join(re.escape(one) for one in (*self.own, *self.derived))
        return re.compile(rf"(?<![a-z0-9])(?:{names})", re.I)


FAMILIES = (
    ModelFamily("OpenAI", ("gpt-", "gpt4", "gpt5", "chatgpt", "dall-e", "dalle")),
    ModelFamily(
        "Google",
        ("gemini", "gemma", "medgemma", "paligemma", "imagen-", "nano-banana", "med-palm"),
    ),
    ModelFamily("Anthropic", ("claude",)),
    ModelFamily(
        "Qwen", ("qwen", "qwq", "qvq"), ("lingshu", "huatuogpt-vision-7b", "medvlm-r1", "bagel")
    ),
    ModelFamily("Llama", ("llama", "codellama"), ("vicuna", "radfm", "seed-x", "medllama")),
    ModelFamily(
        "Mistral", ("mistral", "mixtral", "pixtral", "ministral", "magistral"), ("llava-med-v1.5",)
    ),
    ModelFamily("DeepSeek", ("deepseek", "janus-")),
    ModelFamily("InternVL", ("internvl", "internlm")),
    ModelFamily("GLM", ("glm-", "chatglm", "cogvlm", "cogview")),
    ModelFamily("Seed", ("seedream", "seededit", "doubao", "seed-1", "seed1")),
    ModelFamily("Phi", ("phi-",), ("show-o",)),
    ModelFamily("Ming", ("ming-",)),
    ModelFamily("Yi", ("yi-",), ("huatuogpt-vision-34b",)),
    ModelFamily("Grok", ("grok",)),
    ModelFamily("SmolLM", ("smollm", "smolvlm", "idefics")),
)
#: A letter and a digit: only as a whole name, or "show-o2" would be one.
_O_SERIES = re.compile(r"(?<![a-z0-9-])o[1-9](?=-(?:mini|preview|pro)|[^a-z0-9.-]|$)", re.I)
_PATTERNS = {one.name: one.pattern for one in FAMILIES}


def model_families(text: str) -> tuple[str, ...]:
    """The families of the models that a text names; a composition may have several.

    >>> model_families("openai:gpt-4o"), model_families("openai:o3-mini")
    (('OpenAI',), ('OpenAI',))
    >>> model_families("composed:openai:Qwen3-VL-8B+gemini:gemini-2.5-flash-image")
    ('Google', 'Qwen')
    >>> model_families("openai:my-server"), model_families("HuatuoGPT-Vision")
    ((), ())
    """
    found = [name for name, pattern in _PATTERNS.items() if pattern.search(text)]
    if _O_SERIES.search(text) and "OpenAI" not in found:
        found.insert(0, "OpenAI")
    return tuple(found)
