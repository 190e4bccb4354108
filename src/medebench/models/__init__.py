"""Calling multimodal models over HTTP: limits, retries, cache, cost, secrets.

with Caller(find_client("openai:gpt-4o"), max_cost=5) as caller:
    for ask, answer in caller.ask_all(asks):
        ...
"""

from medebench.models.answer_cache import AnswerCache
from medebench.models.ask import Answer, Ask, Failure, Image, Turn
from medebench.models.caller import Caller
from medebench.models.fault import NOT_ASKED, Fault
from medebench.models.image_encoding import encode_for_model
from medebench.models.model_lookup import PROVIDERS, find_client, find_image_client
from medebench.models.prices import Price
from medebench.models.provider import Provider, Reply
from medebench.models.response_body import Body
from medebench.models.retry import Limits
from medebench.models.secret import Secret
from medebench.models.tally import Plan, Tally

__all__ = [
    "NOT_ASKED",
    "PROVIDERS",
    "Answer",
    "AnswerCache",
    "Ask",
    "Body",
    "Caller",
    "Failure",
    "Fault",
    "Image",
    "Limits",
    "Plan",
    "Price",
    "Provider",
    "Reply",
    "Secret",
    "Tally",
    "Turn",
    "encode_for_model",
    "find_client",
    "find_image_client",
]
