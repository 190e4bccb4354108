"""What the three vendors' adapters share: one call, and what the server would not take.

Servers differ in the parameters they know. One that is refused (400) is left out, remembered for
this client, and named in the answer, so that no report claims a temperature that was not used.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import time
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from medebench.clients.ask import Answer, Ask, Estimate, Image
from medebench.clients.drawing import drawn_tokens
from medebench.clients.endpoint import Endpoint
from medebench.clients.fault import Fault, find_fault, shown
from medebench.clients.find import not_installed
from medebench.clients.options import ClientOptions
from medebench.clients.prices import find_price
from medebench.clients.secret import Scrubber, Secret
from medebench.clients.tokens import count_image_tokens, count_tokens
from medebench.clients.wire import LARGEST_TEXT, bounded_client
from medebench.errors import NotReadyError

#: How a refusal of each parameter shows in the server's text.
_SIGNS = {
    "schema": ("response_format", "json_schema", "schema", "output_config", "structured output"),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "token_limit": ("max_tokens", "max_completion_tokens"),
    "aspect_ratio": ("aspect_ratio", "aspectratio", "aspect ratio"),
}
#: What Google has these in: a server may know nothing of the whole.
_WHOLE = {"aspect_ratio": "image_config", "image_size": "image_config"}
_NOT_KNOWN = (
    "support",
    "unrecogni",
    "unknown",
    "extra",
    "not permitted",
    "not allowed",
    "unexpected",
    "not enabled",
)


@dataclass(frozen=True)
class Reply:
    """A vendor's answer in our words; usage is None where the server does not tell."""

    text: str
    finish: str
    model: str | None
    tokens_in: int | None
    tokens_out: int | None
    images: tuple[Image, ...] = ()
    #: How many of the tokens are those of pictures.
    image_in: int | None = None
    image_out: int | None = None


class Adapter(ABC):
    """A vendor's SDK behind the `Client` protocol."""

    vendor: ClassVar[str]
    package: ClassVar[str]
    #: Parameters this vendor does not have.
    unknown: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        key: Secret | None,
        options: ClientOptions,
        largest: int = LARGEST_TEXT,
    ) -> None:
        self.name = f"{self.vendor}:{model}"
        self.model = model
        self.endpoint = endpoint
        self.options = options
        self.price = find_price(self.name, endpoint)
        self._key = key
        #: Bytes of an answer that are read at most.
        self._largest = largest
        self._scrubber = Scrubber([*([key] if key else []), *endpoint.secrets])
        self._left_out = set(self.unknown) | (set() if options.structured else {"schema"})
        # An SDK's connections belong to the event loop they were opened on.
        self._opened: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any]
        self._opened = weakref.WeakKeyDictionary()
        self._module = _load(self.package)

    @abstractmethod
    def _open(self) -> Any:
        """The SDK's client, its own retries off."""

    @abstractmethod
    async def _shut(self, sdk: Any) -> None: ...

    @abstractmethod
    async def _send(self, sdk: Any, ask: Ask, send: frozenset[str]) -> Reply:
        """One call with the optional parameters in `send`."""

    def identity(self) -> dict[str, str]:
        return {
            "vendor": self.vendor,
            "model": self.model,
            "url": self.endpoint.url,
            **{name: str(value) for name, value in self.options.model_dump().items()},
        }

    def estimate(self, ask: Ask) -> Estimate:
        tokens_in = count_tokens(self.vendor, self.model, ask, self.options.detail)
        likely = min(ask.likely_tokens or ask.max_tokens, ask.max_tokens)
        drawn = self._drawn(ask)
        if self.price is None:
            return Estimate(tokens_in, drawn + likely, None, None)
        seen = self._seen(ask)
        cost, most = (
            self.price.cost(tokens_in, drawn + words, seen, drawn)
            for words in (likely, ask.max_tokens)
        )
        return Estimate(tokens_in, drawn + likely, cost, most)

    def _seen(self, ask: Ask) -> int:
        return count_image_tokens(self.vendor, self.model, ask, self.options.detail)

    def _drawn(self, ask: Ask) -> int:
        return 0 if ask.picture is None else drawn_tokens(self.vendor, self.model, ask.picture)

    def scrub(self, text: str) -> str:
        return self._scrubber(text)

    async def ask(self, ask: Ask, timeout: float) -> Answer:
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened[loop] = self._open()
        sdk = self._opened[loop]
        on_trial: str | None = None
        first: Fault | None = None
        started = time.monotonic()
        while True:
            send = frozenset(
                name
                for name in _wanted(ask)
                if name != on_trial and self._left_out.isdisjoint({name, _mark(ask, name)})
            )
            try:
                reply = await asyncio.wait_for(self._send(sdk, ask, send), timeout)
                fault = None
            except Exception as error:
                fault = find_fault(error)
            # Out of the `except` block, so that the SDK's exception, which holds the request
            # and with it the key, does not hang on to ours.
            if fault is None:
                if on_trial:
                    self._left_out.add(_mark(ask, on_trial))
                return self._answer(ask, reply, send, time.monotonic() - started)
            fault = Fault(fault.kind, shown(self.scrub(fault.text)), fault.status, fault.wait)
            if on_trial or fault.status not in (400, 422):
                raise first or fault
            if (blamed := _blamed(fault.text, send)) is not None:
                self._left_out.add(_mark(ask, blamed))
            elif (doubted := _doubted(fault.text, send)) is not None:
                # The server does not say what it dislikes: see whether it is this.
                on_trial, first = doubted, fault
            else:
                raise fault

    async def close(self) -> None:
        sdk = self._opened.pop(asyncio.get_running_loop(), None)
        if sdk is not None:
            await self._shut(sdk)

    def system_text(self, ask: Ask, send: frozenset[str]) -> str:
        """The system text; where the schema cannot be sent as such, it is asked for in words."""
        if ask.schema is None or "schema" in send:
            return ask.system
        wish = "Reply with a single JSON object and nothing else. It follows this JSON Schema:"
        return f"{ask.system}\n\n{wish}\n{json.dumps(ask.schema)}"

    def key_or(self, placeholder: str) -> str:
        """SDKs insist on a key even where the server does not."""
        return self._key.reveal() if self._key is not None else placeholder

    def connection(self) -> dict[str, Any]:
        """What the SDKs of OpenAI and Anthropic, which are made alike, are opened with."""
        return {
            "api_key": self.key_or("none"),
            "base_url": self.endpoint.url,
            "max_retries": 0,
            "timeout": None,
            "default_headers": self.endpoint.headers(),
            "default_query": self.endpoint.parameters(),
            "http_client": self.http_client(self._module.DefaultAsyncHttpxClient),
        }

    def http_client(self, base: type[Any], **given: Any) -> Any:
        """Redirects are not followed, since the key would go along; a proxy is for far hosts."""
        given |= {"follow_redirects": False, "timeout": None}
        if self.endpoint.is_local:
            given |= {"trust_env": False, "mounts": {"http://": None, "https://": None}}
        # Time is kept for each call (`ask`).
        return bounded_client(base, self._largest)(**given)

    def _answer(self, ask: Ask, reply: Reply, send: frozenset[str], seconds: float) -> Answer:
        estimate = self.estimate(ask)
        drawn = self._drawn(ask)
        tokens_in = estimate.tokens_in if reply.tokens_in is None else reply.tokens_in
        tokens_out = reply.tokens_out
        if tokens_out is None:
            tokens_out = estimate.tokens_out - (0 if reply.images else drawn)
        seen = self._seen(ask) if reply.image_in is None else reply.image_in
        made = drawn * len(reply.images) if reply.image_out is None else reply.image_out
        cost = None if self.price is None else self.price.cost(tokens_in, tokens_out, seen, made)
        return Answer(
            text=self.scrub(_whole(reply.text)),
            model=reply.model or self.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost,
            seconds=seconds,
            finish=reply.finish,
            without=tuple(sorted(_wanted(ask) - send - {"token_limit"})),
            images=reply.images,
        )


def _wanted(ask: Ask) -> set[str]:
    given = {"schema": ask.schema, "temperature": ask.temperature, "seed": ask.seed}
    wanted = {name for name, value in given.items() if value is not None}
    return wanted | set(ask.picture or ()) | {"token_limit"}


def _mark(ask: Ask, name: str) -> str:
    """Under which a parameter is remembered: a server may know other values of a picture's."""
    return f"{name}={ask.picture[name]}" if ask.picture and name in ask.picture else name


def _whole(text: str) -> str:
    """JSON escapes can spell half a character, which no file or database takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _blamed(text: str, send: frozenset[str]) -> str | None:
    """The parameter the server names as the one it does not know."""
    text = text.lower()
    if any(word in text for word in _NOT_KNOWN):
        for name in sorted(send - {"schema"}):
            if _is_named(text, name):
                return name
        for name in sorted(send & set(_WHOLE)):
            if _names(text, _WHOLE[name]):
                return name
    return "schema" if "schema" in send and _is_named(text, "schema") else None


def _doubted(text: str, send: frozenset[str]) -> str | None:
    """What may be at fault: one that was not the user's wish and is spoken of, or the schema."""
    if "aspect_ratio" in send and _is_named(text.lower(), "aspect_ratio"):
        return "aspect_ratio"
    return "schema" if "schema" in send else None


def _is_named(text: str, name: str) -> bool:
    signs = _SIGNS.get(name)
    return any(sign in text for sign in signs) if signs else _names(text, name)


def _names(text: str, name: str) -> bool:
    """As a word of its own (`size` is not in `image_size`), in Google's spelling as well."""
    spellings = "|".join({name, name.replace("_", "")})
    return re.search(rf"(?<![a-z0-9_])(?:{spellings})(?![a-z0-9_])", text) is not None


def _load(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotReadyError(not_installed(package)) from None
