"""A cache of paid answers, shared by all runs.

`<cache>/answers/<first two digits>/<key>.json`, one file an answer. The key is the SHA-256 of
everything the answer depends on; the file holds the answer and no part of the question. Pictures
lie beside it, under the key and their own hash; the file is written after them, and an answer
that lacks one of its pictures is none.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from medebench import files
from medebench.models.ask import Answer, Ask, Image

FORMAT = 1
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}
_FIELDS = {"text": str, "model": str, "tokens_in": int, "tokens_out": int, "finish": str}


def key_of(identity: dict[str, str], ask: Ask) -> str:
    """The name under which the answer is kept."""
    question: dict[str, Any] = {
        "format": FORMAT,
        "client": identity,
        "system": ask.system,
        "parts": [
            {"image": part.sha256, "mime": part.mime} if isinstance(part, Image) else {"text": part}
            for part in ask.parts
        ],
        "schema": ask.schema,
        "temperature": None if ask.temperature is None else float(ask.temperature),
        "max_tokens": ask.max_tokens,
        "seed": ask.seed,
        "turns": [[turn.said, turn.reply] for turn in ask.turns],
        "repeat": ask.repeat,
    }
    if ask.picture is not None:
        # Only then, so that answers kept before pictures could be asked for are still found.
        question["picture"] = sorted(ask.picture.items())
    # The order of a schema's properties changes what models write, so it is not sorted away;
    # ASCII escapes keep even lone surrogates apart.
    return files.sha256(json.dumps(question, ensure_ascii=True, allow_nan=True).encode())


class AnswerCache:
    """Safe for many processes: files appear whole, and equal keys hold equal questions."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or files.cache_folder() / "answers"

    def path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Answer | None:
        """The cached answer; a damaged one counts as missing."""
        try:
            kept = json.loads(self.path(key).read_bytes())
            answer = _answer(kept, key)
            images = [self._read(key, **image) for image in kept.get("images", ())]
            return replace(answer, images=tuple(images))
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, key: str, answer: Answer) -> None:
        kept: dict[str, Any] = {name: getattr(answer, name) for name in _FIELDS}
        kept |= {"cost": answer.cost, "seconds": round(answer.seconds, 3)}
        kept |= {"without": list(answer.without), "key": key, "format": FORMAT}
        for image in answer.images:
            files.write_bytes(self._beside(key, image.sha256, image.mime), image.data)
            kept.setdefault("images", []).append({"sha256": image.sha256, "mime": image.mime})
        kept["check"] = _check(kept)
        # ASCII: models may send half a character, which UTF-8 cannot hold.
        files.write_text(self.path(key), json.dumps(kept, indent=2, allow_nan=False) + "\n")

    def _beside(self, key: str, sha256: str, mime: str) -> Path:
        # By its hash, so that two processes with the same question do not mix their answers.
        return self.path(key).with_name(f"{key}.{sha256[:16]}{_SUFFIXES.get(mime, '.bin')}")

    def _read(self, key: str, sha256: str, mime: str) -> Image:
        image = Image(self._beside(key, sha256, mime).read_bytes(), mime)
        if image.sha256 != sha256:
            raise ValueError("damaged")
        return image


def _check(kept: dict[str, Any]) -> str:
    content = {name: value for name, value in kept.items() if name != "check"}
    return files.sha256(json.dumps(content, sort_keys=True).encode())


def _answer(kept: Any, key: str) -> Answer:
    if not isinstance(kept, dict) or kept["key"] != key or kept["format"] != FORMAT:
        raise ValueError("not an answer to this question")
    if kept["check"] != _check(kept):
        raise ValueError("damaged")
    if not all(type(kept[name]) is kind for name, kind in _FIELDS.items()):
        raise ValueError("not an answer")
    return Answer(
        **{name: kept[name] for name in _FIELDS},
        cost=kept["cost"],
        seconds=float(kept["seconds"]),
        without=tuple(kept["without"]),
        cached=True,
    )
