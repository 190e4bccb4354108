"""Calling multimodal models over HTTP: limits, retries, cache, cost, secrets.

with Caller(find_client("openai:gpt-4o"), max_cost=5) as caller:
    for ask, answer in caller.ask_all(asks):
        ...
"""

from medebench.clients.ask import Answer, Ask, Client, Estimate, Failure, Image, Turn
from medebench.clients.cache import AnswerCache
from medebench.clients.caller import Caller
from medebench.clients.encode import encode_for_model
from medebench.clients.fault import NOT_ASKED, Fault
from medebench.clients.find import find_client, find_image_client
from medebench.clients.retry import Limits
from medebench.clients.secret import Secret
from medebench.clients.tally import Plan, Tally

__all__ = [
    "NOT_ASKED",
    "Answer",
    "AnswerCache",
    "Ask",
    "Caller",
    "Client",
    "Estimate",
    "Failure",
    "Fault",
    "Image",
    "Limits",
    "Plan",
    "Secret",
    "Tally",
    "Turn",
    "encode_for_model",
    "find_client",
    "find_image_client",
]
