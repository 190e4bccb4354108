"""Texts in which a model declines, or talks about itself and its task, instead of doing it."""

from __future__ import annotations

import re

from medebench.models.answers.refusal import is_refusal

_VIEW = (
    r"(?:give|provide|determine|describe|identify|generate|offer|make|tell|produce|assess|say|see)"
)
_TEXT = (
    r"(?:description|rephras\w*|paraphras\w*|instruction|prompt|version|caption|answer|response)"
)
#: Said by a model of itself or of what it was given; nobody says it of a change in a picture.
_META = re.compile(
    rf"""\bas\ an?\ (?:AI\b|(?:large\ )?language\ model|artificial\ intelligence|assistant)
    |\b(?:large\ )?language\ model\b|\bI(?:['’]m|\ am)\ (?:just\ )?an?\ (?:AI|assistant|language)
    |\bI(?:['’]m|\ am)\ (?:\w+\ )?(?:sorry|afraid|unable|not\ able|not\ sure|happy\ to)\b
    |\bI\ (?:can['’]?t|can\ ?not|could\ ?n[o'’]t|won['’]?t|don['’]?t|do\ not|must|apologi[sz]e)\b
    |\bI\ (?:have\ to|would\ need|['’]d\ need|need\ (?:more|the|to\ see)|see\ no|cannot)\b
    |\b(?:I['’]d|I\ would)\ be\ happy\ to\b
    |^\W*(?:sorry|my\ apologies|apologies|unfortunately)\b
    |^\W*(?:unable|not\ able)\ to\ {_VIEW}
    |\bit\ is(?:\ not|n['’]t)\ possible\ (?:for\ me\ )?to\ (?:\w+\ )?{_VIEW}
    |\bit\ is\ impossible\ to\ (?:\w+\ )?{_VIEW}
    |\b(?:cannot|can['’]t|could\ not)\ be\ (?:determined|described|provided|generated)\b
    |\bno\ (?:clear\ |detailed\ )?description\ (?:can|could)\ be
    |\b(?:please|kindly)\ (?:provide|upload|share|attach|send|clarify|supply)\b
    |\bif\ you\ (?:can|could|have|would\ like|want|need|provide|share|upload)\b
    |\blet\ me\ know\b|\bfeel\ free\ to\b
    |\b(?:image|picture|photo|file|instruction|prompt)s?\ (?:that\ )?you(?:['’]ve|\ have)?\ 
      (?:provided|uploaded|shared|sent|attached|gave)
    |^\W*(?:sure|certainly|of\ course|absolutely|okay)\b[!,.:]\s*(?:here|i\b|the\ follow|below)
    |^\W*(?:sure|certainly)[!.]
    |^\W*here(?:['’]s|\ is|\ are)\ (?:an?|the|your|some|three|my)\ (?:\w+\ ){{0,3}}{_TEXT}
    |^\W*(?:rephrased|paraphrased|revised)\ (?:prompt|instruction|version|sentence|text)\s*:
    |^\W*(?:error|n/?a|none|null|undefined)\W*$
    |\b(?:error\ code|rate\ limit|http\ error|bad\ gateway|api\ key)\b
    |\brequest\ (?:was|has\ been)\ (?:rejected|blocked|declined|refused)
    |\b(?:against|violates?)\b[^.\n]{{0,30}}\b(?:polic(?:y|ies)|guidelines|terms\ of)
    |\bno\ images?\ (?:was|were|has\ been|have\ been)\ (?:attached|provided|uploaded|included)
    |作为(?:一个|一名)?(?:AI|人工智能|语言模型)""",
    re.I | re.X,
)
#: What a judge's refusal has that may also be said of a patient ("was unable to open the eye").
_OF_OTHERS = re.compile(r"\b(?:unable|not able) to\b", re.I)


def is_refused(text: str) -> bool:
    """Whether this is a refusal or talk of a model where a text was wanted."""
    return bool(_META.search(text)) or is_refusal(_OF_OTHERS.sub("", text))
