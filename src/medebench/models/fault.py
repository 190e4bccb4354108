"""What can go wrong with a call, classified in one place for all vendors.

The SDKs raise different classes for the same events. They are recognised by status code and by
class name, so that none of the SDKs has to be installed for this file to be read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

from medebench.errors import one_line
from medebench.models.retry import parse_retry_after

#: kind -> is the call worth repeating
KINDS = {
    "busy": True,  # 429, 503, 529: too much at once
    "trouble": True,  # 408, 409, other 5xx
    "timeout": True,
    "connection": True,
    "broken": True,  # a body that is cut off or no answer
    "unusable": False,  # too large, or packed in a way that is not read
    "rejected": False,  # 400 and the like
    "denied": False,  # 401, 403
    "missing": False,  # 404
    "quota": False,  # a 429 that waiting does not cure
    "deadline": False,
    "budget": False,
    "stopped": False,
    "error": False,
}
#: Troubles of the whole undertaking, not of one question: nothing is written, the next run asks.
NOT_ASKED = {"budget", "deadline", "stopped", "denied", "missing", "quota", "connection"}
#: The server may have done the work, and may charge for it, though no answer arrived.
MAYBE_BILLED = {"timeout", "broken", "unusable"}

_CUT_OFF = {"ReadError", "RemoteProtocolError", "JSONDecodeError", "UnknownApiResponseError"}
_CUT_OFF |= {"APIResponseValidationError", "DecodingError", "ValidationError", "IncompleteRead"}
_CUT_OFF |= {"RecursionError"}  # JSON nested deeper than the SDK can read
_LINE_DOWN = {"APIConnectionError", "TransportError", "ConnectError", "ConnectionError", "OSError"}
#: The last is in Google's names for quotas of the day ("GenerateRequestsPerDayPerProject").
_NO_MONEY = ("insufficient_quota", "billing_hard_limit", "credit balance is too low", "perday")
#: How Google says with a 400 what others say with a 401.
_NO_KEY = ("api_key_invalid", "api key not valid", "api key expired")
_LONGEST_TEXT = 300


class Fault(Exception):
    """One call went wrong."""

    def __init__(
        self, kind: str, text: str, status: int | None = None, wait: float | None = None
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.status = status
        #: Seconds the server asked to wait.
        self.wait = wait
        self.attempts = 0

    @property
    def can_be_repeated(self) -> bool:
        return KINDS[self.kind]


class StatusError(Exception):
    """An unsuccessful HTTP status, shaped like an SDK's exception."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code, self.body = status, body
        self.response = self
        self.headers = headers


def find_fault(error: Exception) -> Fault:
    """The fault behind an SDK's exception; its text may still hold secrets."""
    for link in _chain(error):
        # Raised below the SDK, which may have wrapped it.
        if isinstance(link, Fault):
            return link
    status = _status(error)
    if status is not None and status >= 300:
        return _from_status(status, error)
    names = {cls.__name__ for link in _chain(error) for cls in type(link).__mro__}
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)) or any(
        "Timeout" in name for name in names
    ):
        return Fault("timeout", "no answer in time")
    if names & _CUT_OFF:
        return Fault("broken", "the answer was cut off or does not follow the protocol")
    if names & _LINE_DOWN:
        return Fault("connection", f"no connection ({_one_line(list(_chain(error))[-1])})")
    return Fault("error", f"{type(error).__name__}: {_one_line(error)}")


def _from_status(status: int, error: Exception) -> Fault:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    body = getattr(error, "body", None) or getattr(error, "details", None)
    raw = body if isinstance(body, str) else json.dumps(body, default=str)
    text = f"HTTP {status}: {_shorten(_message(body) or str(getattr(error, 'message', '')))}"
    if status in (401, 403) or (status == 400 and any(word in raw.lower() for word in _NO_KEY)):
        return Fault("denied", text, status)
    if status == 404:
        return Fault("missing", text, status)
    if status in (402, 429) and (status == 402 or any(word in raw.lower() for word in _NO_MONEY)):
        return Fault("quota", text, status)
    if status in (429, 503, 529):
        wait = parse_retry_after(headers.get("retry-after"), headers.get("retry-after-ms"))
        return Fault("busy", text, status, wait if wait is not None else _retry_info(body))
    if status in (408, 409) or status >= 500:
        wait = parse_retry_after(headers.get("retry-after"))
        return Fault("trouble", text, status, wait)
    if status < 400:
        return Fault("rejected", f"{text} (moved; pass the new address as --base-url)", status)
    return Fault("rejected", text, status)


def _status(error: Exception) -> int | None:
    values = (getattr(error, name, None) for name in ("status_code", "code"))
    return next((value for value in values if isinstance(value, int)), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _inner(body: Any) -> Any:
    """The part of an error's body that describes it."""
    first = body[0] if isinstance(body, list) and body else body
    return first.get("error", first) if isinstance(first, dict) else first


def _message(body: Any) -> str:
    inner = _inner(body)
    found = inner.get("message") if isinstance(inner, dict) else inner
    return found if isinstance(found, str) else ""


def _retry_info(body: Any) -> float | None:
    """Google says it in the body: {"@type": ".../RetryInfo", "retryDelay": "34s"}."""
    error = _inner(body)
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return parse_retry_after(delay[:-1])
    return None


def _one_line(error: BaseException) -> str:
    return _shorten(str(error) or type(error).__name__)


def _shorten(text: str) -> str:
    # Longer than what is shown: the text is cut to its final length after it was scrubbed.
    return one_line(text, 10 * _LONGEST_TEXT)


def shown(text: str) -> str:
    return one_line(text, _LONGEST_TEXT)
