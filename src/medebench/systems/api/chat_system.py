"""Any model that can be a judge, asked to answer: `openai:MODEL`, `anthropic:MODEL`, your own."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from medebench.models.model_lookup import find_provider
from medebench.models.provider import Provider
from medebench.outputs import Output
from medebench.settings import Settings as AnySettings
from medebench.systems.api.api_settings import ChatSettings
from medebench.systems.api.api_system import ApiSystem
from medebench.systems.request import Request


class ChatSystem(ApiSystem):
    """Images and a question in, words out."""

    gives = ("text",)
    Settings: ClassVar[type[AnySettings]] = ChatSettings

    def generate(self, request: Request) -> Output:
        self._require(request)
        return self._text_answer(request)


class OpenAIChat(ChatSystem):
    _kind = "openai"
    summary = "a model that answers in words, over OpenAI's API or at a server that speaks it"
    needs = "the extra [judges], and a key (OPENAI_API_KEY) or base_url"
    example = "openai:gpt-5.4-mini,max_cost=5"


class AnthropicChat(ChatSystem):
    _kind = "anthropic"
    summary = "a Claude model that answers in words, over Anthropic's API"
    needs = "the extra [judges], a key (ANTHROPIC_API_KEY), money"
    example = "anthropic:claude-sonnet-5-5,max_cost=5"


@cache
def chat_class(name: str, provider: type[Provider]) -> type[ChatSystem]:
    """A provider of somebody else's as a system of the same name."""
    about = {
        "__module__": __name__,
        "_kind": name,
        "summary": f"a model of {provider.vendor} that answers in words",
        "needs": provider.key_variables[0] if provider.key_variables else "nothing",
        "example": f"{name}:MODEL",
    }
    return type(f"{provider.__name__}Chat", (ChatSystem,), about)


def provider_system(name: str) -> type[ChatSystem]:
    return chat_class(name, find_provider(name))
