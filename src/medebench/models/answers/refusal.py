"""Telling a refusal from an answer that merely lacks something."""

from __future__ import annotations

import re

#: Why a server says that the model stopped, where it means that the model would not speak.
_FILTERED = {"content_filter", "refusal", "safety", "recitation", "blocklist", "spii"}
_FILTERED |= {"prohibited_content", "image_safety", "guardrail_intervened", "content_filtered"}

_NOT = (
    r"(?:can(?:not|['’]?t|[ ]not)|won['’]?t|will[ ]not|(?:am|['’]m)[ ](?:not[ ]able|unable)[ ]to"
    r"|do[ ]not[ ]feel[ ]comfortable|must[ ]decline|decline[ ]to"
    r"|(?:am|['’]m)[ ]not[ ](?:going|allowed|permitted|comfortable)"
    r"|don['’]t[ ](?:feel|have[ ]the[ ]ability)|do[ ]not[ ]have[ ]the[ ]ability)"
)
_DO = (
    r"(?:assist|help|evaluat|analy[sz]|provid|process|comply|fulfil|comment|rat(?:e|ing)|assess"
    r"|view|see|judg|scor|compar|do[ ]th(?:at|is)|continu|engag|interpret|diagnos|discuss|describ"
    r"|access|offer|complet|examin|open|review|make|respond|generate|look)"
)
_REFUSAL = re.compile(
    rf"""\bI\b[ ]?{_NOT}[^.\n]{{0,40}}?\b{_DO}
    |\b(?:unable|not[ ]able|not[ ]possible[ ]for[ ]me)[ ]to[ ]{_DO}
    |\bI(?:['’]m|[ ]am)[ ](?:very[ ]|so[ ]|truly[ ])?sorry\b
    |^\W*(?:sorry|apologies|unfortunately)\b
    |\bI[ ](?:must|have[ ]to)[ ](?:respectfully[ ])?(?:decline|refuse)
    |\bas[ ]an?[ ](?:AI|language[ ]model|artificial)\b
    |\b(?:against|violates?|violating|not[ ]permitted[ ](?:by|under)|goes[ ]against)\b[^.\n]{{0,30}}
      \b(?:polic(?:y|ies)|guidelines|terms)
    |\bno[ ]images?[ ](?:was|were|are|is|have[ ]been|has[ ]been)\b[^.\n]{{0,20}}
      (?:attach|provid|upload|visible|includ|receiv)
    |\b(?:don['’]t|do[ ]not|cannot|can['’]t)[ ](?:actually[ ])?see[ ]any[ ]image
    |\brequest[ ](?:was|has[ ]been)[ ](?:rejected|blocked|declined|refused)
    |抱歉|我无法|我不能|対応できません|申し訳|죄송합니다
    |\blo[ ]siento\b|\bno[ ]puedo\b
    |\bje[ ](?:suis[ ]désolé|ne[ ]peux[ ]pas)|\bes[ ]tut[ ]mir[ ]leid\b
    |\bich[ ]kann\b[^.\n]{{0,60}}\bnicht\b|\bdesculpe\b|\bmi[ ]dispiace\b|\bизвините\b""",
    re.I | re.X,
)
_HEAD = 1500


def is_filtered(finish: str) -> bool:
    return finish.strip().lower() in _FILTERED


def is_refusal(text: str) -> bool:
    """Whether a text without any score declines to give one."""
    return bool(_REFUSAL.search(text[:_HEAD]))


_SECTIONS = re.compile(r"\b(?:findings?|impression|technique|conclusion|befund)\b\W{0,4}:", re.I)


def declines(text: str) -> bool:
    """Whether an answer declines to answer; a report may say that something cannot be seen."""
    return is_refusal(text) and not _SECTIONS.search(text[: 4 * _HEAD])
