"""How models spell the names of the scores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

#: The key of each score in the JSON that the rubric asks for.
KEYS = {"ea": "editing_accuracy", "vq": "visual_quality", "context": "contextual_preservation"}
#: The same in words, for messages.
NAMES = {name: key.replace("_", " ") for name, key in KEYS.items()}

_LATIN = {
    "ea": (
        "editing accuracy|edit accuracy|edited accuracy|editing acc|accuracy of the editing"
        "|accuracy of the edit|accuracy of edit|accuracy of editing|edit correctness"
        "|bearbeitungsgenauigkeit|editiergenauigkeit|genauigkeit der bearbeitung"
        "|précision de l'édition|précision d'édition|précision de la modification"
        "|precisión de la edición|precisión de edición|exactitud de la edición"
        "|precisão da edição|precisão de edição|accuratezza della modifica"
        "|точность редактирования"
    ),
    "vq": (
        "visual quality|visuelle qualität|qualité visuelle|calidad visual|qualidade visual"
        "|qualità visiva|визуальное качество"
    ),
    "context": (
        "contextual preservation|context preservation|preservation of context"
        "|preservation of the context|contextual consistency|kontexterhaltung|kontexterhalt"
        "|erhaltung des kontexts|préservation du contexte|preservación del contexto"
        "|preservação do contexto|conservazione del contesto|сохранение контекста"
    ),
}
_EASTERN = {
    "ea": (
        "编辑准确性|编辑准确度|编辑精度|編輯準確性|編輯準確度|編集精度|編集の正確さ|편집 정확도"
        "|편집 정확성"
    ),
    "vq": "视觉质量|视觉品质|視覺質量|視覺品質|視覚的品質|視覚品質|시각적 품질|시각 품질",
    "context": "上下文保持|上下文保留|背景保持|語境保留|文脈の保持|コンテキスト保持|맥락 보존",
}
_SHORT = {"ea": "EA", "vq": "VQ", "context": "CP"}
_GENERIC = {
    "ea": "accuracy|accuracy of the change|edit quality",
    "vq": "quality|image quality|overall visual quality|画質|图像质量|bildqualität",
    "context": "context|preservation|background preservation",
}


def _spaced(spellings: str) -> str:
    escaped = (re.escape(one).replace(r"\ ", r"[ \t_\-]{0,3}") for one in spellings.split("|"))
    return "|".join(sorted((one.replace("'", "['’]") for one in escaped), key=len, reverse=True))


def _group(name: str) -> str:
    latin = rf"(?<![^\W_])(?:{_spaced(_LATIN[name])}|(?-i:{_SHORT[name]}))(?![^\W_])"
    return rf"(?P<{name}>{latin}|{_spaced(_EASTERN[name])})"


#: A name of a score anywhere in a text.
LABEL = re.compile("|".join(_group(name) for name in KEYS), re.I)
#: "Accuracy:" and the like; they count at the beginning of a line only.
GENERIC_LABEL = re.compile(
    r"^[^\w\n]{0,20}(?:"
    + "|".join(rf"(?P<{n}>(?:{_spaced(_GENERIC[n])})(?![^\W_]))" for n in KEYS)
    + ")",
    re.I | re.M,
)

SCORE_WORD = (
    r"(?:scores?|ratings?|grade|value|mark|评分|得分|分数|スコア|評価|점수|bewertung|punktzahl"
    r"|note|puntuación|pontuação|nota|punteggio|оценка)"
)
REASON_WORD = (
    r"(?:reasons?|reasoning|justification|explanation|rationale|comments?|analysis|why|notes?"
    r"|description|details|理由|原因|说明|begründung|raison|motivo)"
)
_SCORE_KEY = re.compile(rf"^(?:(?:final|numeric|numerical) )?{SCORE_WORD}(?: for| of)?\b ?", re.I)
_SCORE_END = re.compile(
    rf" ?\b(?:(?:final|numeric) )?{SCORE_WORD}(?: out of 10)?$| out of 10$", re.I
)
_REASON_END = re.compile(rf" ?\b{REASON_WORD}$", re.I)
_REASON_KEY = re.compile(rf"^{REASON_WORD}(?: for| of)?\b ?", re.I)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FILL = re.compile(r"[\s_\-.:*#`\"'’]+")
_PARENTHESIS = re.compile(r"\(([^()]*)\)")
_NUMBERING = re.compile(r"^(?:\d{1,2}|[a-z]|step \d)[.) ]+(?=\w)")

SPECIFIC_SPELLINGS = {
    _FILL.sub(" ", word): name
    for table in (_LATIN, _EASTERN, _SHORT)
    for name, words in table.items()
    for word in words.lower().split("|")
}
_GENERIC_SPELLINGS = {word: n for n, words in _GENERIC.items() for word in words.split("|")}
NAME_KEYS = {"criterion", "criteria", "metric", "name", "dimension", "aspect", "category", "label"}
NAME_KEYS |= {"type", "measure", "title", "item", "指标", "维度"}


@dataclass(frozen=True)
class Key:
    """What a key of a JSON object speaks of."""

    score: str | None
    part: str  # "score", "reason" or "" for a key that may hold both
    note: str  # what stood in parentheses, such as the scale
    generic: bool = False


@lru_cache(maxsize=4096)
def read_key(key: str) -> Key:
    text = _CAMEL.sub(" ", key[:120])
    note = " ".join(_PARENTHESIS.findall(text))
    text = _FILL.sub(" ", _PARENTHESIS.sub(" ", text)).strip().lower()
    text = _NUMBERING.sub("", text)
    part = ""
    for part_name, patterns in (
        ("reason", (_REASON_END, _REASON_KEY)),
        ("score", (_SCORE_END, _SCORE_KEY)),
    ):
        for pattern in patterns:
            shorter = pattern.sub("", text, count=1).strip()
            if shorter != text:
                text, part = shorter, part or part_name
    if text in SPECIFIC_SPELLINGS:
        return Key(SPECIFIC_SPELLINGS[text], part, note)
    if text in _GENERIC_SPELLINGS:
        return Key(_GENERIC_SPELLINGS[text], part, note, generic=True)
    return Key(None, part if not text else "", note)
