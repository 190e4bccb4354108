"""A provider: one kind of server, with all that is particular to it on one class.

Its name, key, address, prices and token rules are attributes; `send` makes one call. Limits,
retries, cache and money are the Caller's and the same for all.

Servers differ in the parameters they know. One that is refused (400) is left out, remembered for
this model, and named in the answer, so that no report claims a temperature that was not used.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from medebench.device import is_installed
from medebench.errors import InputError, NotReadyError
from medebench.models.api_keys import find_key, need_key
from medebench.models.ask import Answer, Ask, Image
from medebench.models.bounded_http import LARGEST_TEXT, bounded_client
from medebench.models.endpoint import Endpoint, read_endpoint
from medebench.models.fault import Fault, StatusError, find_fault, shown
from medebench.models.prices import Price, find_price
from medebench.models.response_body import Body, parse_body
from medebench.models.secret import Scrubber, Secret
from medebench.models.tally import Plan, patches, text_tokens
from medebench.models.unsupported import blamed, doubted, optional_parameters, remembered_as


@dataclass(frozen=True)
class Reply:
    """A server's answer in a common form; counts are None if the server does not report them."""

    text: str
    finish: str = "stop"
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    images: tuple[Image, ...] = ()
    #: How many of the tokens are those of pictures.
    image_in: int | None = None
    image_out: int | None = None


class Provider(ABC):
    """One model of a provider, at one address. Subclasses write the attributes and `send`."""

    #: The name before the colon in a model's name, in ledgers and in price files.
    vendor: ClassVar[str]
    #: Its own address, if it has one, and the variable that moves it.
    address: ClassVar[str] = ""
    address_variable: ClassVar[str] = ""
    #: Where its key is looked for; the first one that is set is used.
    key_variables: ClassVar[tuple[str, ...]] = ()
    #: By model, for its own address only: whoever resells a model sets another price.
    prices: ClassVar[Mapping[str, Price]] = {}
    #: What models of it can answer with: "text", "image".
    gives: ClassVar[frozenset[str]] = frozenset({"text"})
    #: Parameters it does not have.
    unknown: ClassVar[frozenset[str]] = frozenset()
    #: The package that speaks its protocol, and medebench's extra that brings it.
    package: ClassVar[str] = "httpx"
    extra: ClassVar[str] = ""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        largest: int = LARGEST_TEXT,
    ) -> None:
        self.name = f"{self.vendor}:{model}"
        self.model = model
        self.endpoint = self.find_endpoint(base_url)
        self._key = self._find_key(self.endpoint)
        self.price = find_price(self.name, self.endpoint, self.prices)
        #: Bytes of an answer that are read at most.
        self._largest = largest
        secrets = [*([self._key] if self._key else []), *self.endpoint.secrets]
        self._scrubber = Scrubber(secrets)
        self._left_out = set(self.unknown)
        # Connections belong to the event loop they were opened on.
        self._opened: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any]
        self._opened = weakref.WeakKeyDictionary()
        self._module = self._load()

    # What a subclass writes or may write.

    @abstractmethod
    async def send(self, connection: Any, ask: Ask, allowed: frozenset[str]) -> Reply:
        """One call, with those optional parameters that are `allowed`; no retries."""

    def open(self) -> Any:
        """What `send` gets: an httpx client unless the provider has a library of its own."""
        import httpx

        endpoint = self.endpoint
        parameters = endpoint.parameters() or None
        return self.http_client(httpx.AsyncClient, headers=endpoint.headers(), params=parameters)

    async def shut(self, connection: Any) -> None:
        await connection.aclose()

    def image_tokens(self, width: int, height: int, ask: Ask) -> int:
        """Tokens of a picture that is shown; where nobody knows, 32-pixel patches."""
        return patches(width, height, 32)

    def drawn_tokens(self, wish: dict[str, str]) -> int:
        """Tokens of a picture drawn with the settings in `wish`."""
        return 0

    # What a subclass can use.

    async def post(
        self, connection: Any, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> Body:
        """Post JSON to `path` below the address; the object that comes back, or a Fault."""
        url = f"{self.endpoint.url}{path}"
        response = await connection.post(url, json=body, headers=dict(headers or {}))
        if response.status_code != 200:
            raise StatusError(response.status_code, response.headers, _said(response))
        return Body(parse_body(response.content))

    def system_text(self, ask: Ask, allowed: frozenset[str]) -> str:
        """The system text; where the schema cannot be sent as such, it is asked for in words."""
        if ask.schema is None or "schema" in allowed:
            return ask.system
        wish = "Reply with a single JSON object and nothing else. It follows this JSON Schema:"
        return f"{ask.system}\n\n{wish}\n{json.dumps(ask.schema)}"

    def dialogue(self, content: Any, ask: Ask) -> list[dict[str, Any]]:
        """The user's content and all turns since, as OpenAI and Anthropic take them."""
        messages = [{"role": "user", "content": content}]
        for turn in ask.turns:
            messages.append({"role": "assistant", "content": turn.said})
            messages.append({"role": "user", "content": turn.reply})
        return messages

    def key_or(self, placeholder: str) -> str:
        """SDKs insist on a key even where the server does not."""
        return self._key.reveal() if self._key is not None else placeholder

    def http_client(self, base: type[Any], **given: Any) -> Any:
        """Redirects are not followed, since the key would go along; a proxy is for far hosts."""
        given |= {"follow_redirects": False, "timeout": None}
        if self.endpoint.is_local:
            given |= {"trust_env": False, "mounts": {"http://": None, "https://": None}}
        # Time is kept for each call (`ask`).
        return bounded_client(base, self._largest)(**given)

    def sdk_options(self) -> dict[str, Any]:
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

    # What is the same for all.

    @classmethod
    def find_endpoint(cls, base_url: str | None = None) -> Endpoint:
        """`base_url`, or the address in the variable, or the provider's own address."""
        moved = os.environ.get(cls.address_variable, "").strip() if cls.address_variable else ""
        if given := base_url or moved or cls.address:
            where = "--base-url" if base_url else cls.address_variable or cls.vendor
            return read_endpoint(given, where, cls.address)
        variable = f" or in {cls.address_variable}" if cls.address_variable else ""
        raise InputError(f"{cls.vendor}: no address; pass one as --base-url{variable}")

    @classmethod
    def problems(cls, base_url: str | None = None) -> list[str]:
        """What is missing here (package, key), a line each; nothing is loaded or connected to."""
        found = [] if is_installed(cls.package) else [cls._not_installed()]
        try:
            cls._find_key(cls.find_endpoint(base_url))
        except NotReadyError as error:
            found.append(str(error))
        return found

    def identity(self) -> dict[str, str]:
        """What an answer depends on besides the question; part of the cache key."""
        own = {"vendor": self.vendor, "model": self.model, "url": self.endpoint.url}
        # Always so today; answers that were kept when they could be set are found by them.
        return own | {"detail": "high", "structured": "True"}

    def estimate(self, ask: Ask) -> Plan:
        """Of one call, before it is made."""
        pictures, drawn = self._shown(ask), self._drawn(ask)
        tokens_in = text_tokens(ask) + pictures
        likely = min(ask.likely_tokens or ask.max_tokens, ask.max_tokens)
        if self.price is None:
            return Plan(1, 0, tokens_in, drawn + likely, None, None)
        cost, most = (
            self.price.cost(tokens_in, drawn + words, pictures, drawn)
            for words in (likely, ask.max_tokens)
        )
        return Plan(1, 0, tokens_in, drawn + likely, cost, most)

    def scrub(self, text: str) -> str:
        """`text` without any secret of this client."""
        return self._scrubber(text)

    async def ask(self, ask: Ask, timeout: float) -> Answer:
        """The answer to a single call, or a `Fault`; the Caller handles retries."""
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened[loop] = self.open()
        connection = self._opened[loop]
        on_trial: str | None = None
        first: Fault | None = None
        started = time.monotonic()
        while True:
            allowed = frozenset(
                name
                for name in optional_parameters(ask)
                if name != on_trial and self._left_out.isdisjoint({name, remembered_as(ask, name)})
            )
            try:
                reply = await asyncio.wait_for(self.send(connection, ask, allowed), timeout)
                fault = None
            except Exception as error:
                fault = find_fault(error)
            # Out of the `except` block, so that the SDK's exception, which holds the request
            # and with it the key, does not hang on to ours.
            if fault is None:
                if on_trial:
                    self._left_out.add(remembered_as(ask, on_trial))
                return self._answer(ask, reply, allowed, time.monotonic() - started)
            fault = Fault(fault.kind, shown(self.scrub(fault.text)), fault.status, fault.wait)
            if on_trial or fault.status not in (400, 422):
                raise first or fault
            if (named := blamed(fault.text, allowed)) is not None:
                self._left_out.add(remembered_as(ask, named))
            elif (suspect := doubted(fault.text, allowed)) is not None:
                # The server does not say what it dislikes: see whether it is this.
                on_trial, first = suspect, fault
            else:
                raise fault

    async def close(self) -> None:
        connection = self._opened.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await self.shut(connection)

    def _answer(self, ask: Ask, reply: Reply, allowed: frozenset[str], seconds: float) -> Answer:
        estimate = self.estimate(ask)
        drawn = self._drawn(ask)
        tokens_in = estimate.tokens_in if reply.tokens_in is None else reply.tokens_in
        tokens_out = reply.tokens_out
        if tokens_out is None:
            tokens_out = estimate.tokens_out - (0 if reply.images else drawn)
        seen = self._shown(ask) if reply.image_in is None else reply.image_in
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
            without=tuple(sorted(optional_parameters(ask) - allowed - {"token_limit"})),
            images=reply.images,
        )

    def _shown(self, ask: Ask) -> int:
        sizes = [part.size for part in ask.parts if isinstance(part, Image)]
        return sum(self.image_tokens(*size, ask) for size in sizes)

    def _drawn(self, ask: Ask) -> int:
        return 0 if ask.picture is None else self.drawn_tokens(ask.picture)

    @classmethod
    def _find_key(cls, endpoint: Endpoint) -> Secret | None:
        if cls.key_variables and endpoint.needs_key:
            return need_key(cls.vendor, cls.key_variables)
        return find_key(cls.key_variables)

    @classmethod
    def _load(cls) -> Any:
        try:
            return importlib.import_module(cls.package)
        except ImportError:
            raise NotReadyError(cls._not_installed()) from None

    @classmethod
    def _not_installed(cls) -> str:
        wanted = f"'medebench[{cls.extra}]'" if cls.extra else cls.package
        return f"{cls.package} is not installed; run: pip install {wanted}"


def _said(response: Any) -> Any:
    try:
        return json.loads(response.text)
    except (ValueError, RecursionError):
        return response.text


def _whole(text: str) -> str:
    """JSON escapes can spell half a character, which no file or database takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
