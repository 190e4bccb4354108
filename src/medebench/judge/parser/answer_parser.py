"""From the text of an answer to scores, or to what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from medebench.judge.parser import json_scores, prose_scores
from medebench.judge.parser.parsed import Candidate, Parsed, Scored
from medebench.judge.parser.score_numbers import stated_scale
from medebench.judge.parser.table_scores import take_tables
from medebench.judge.parser.vocabulary import Vocabulary
from medebench.models.answers.characters import BLANK, plain, tidy, uniform, without_thoughts
from medebench.models.answers.lenient_json import Found, find_objects
from medebench.models.answers.refusal import is_filtered, is_refusal

_CUT = {"length", "max_tokens", "max_output_tokens", "model_length"}
#: In a cut-off answer a number counts as whole only if this much follows it on its line.
_TAIL = re.compile(
    r"(?<![\w.,])(?:\d|zero|one|two|three|four|five|six|seven|eight|nine|ten)[^\n]{0,12}$", re.I
)
#: A line that says that what follows replaces what came before.
_FINAL_LINE = re.compile(
    r"^(?=[^\n]{0,90}(?::|\*\*|__)[ \t]*$|[ \t]*#)[^\n]{0,60}?"
    r"\b(?:final|revised|corrected|updated)\b[^\n]{0,20}?\b(?:answer|scores?|ratings?|verdict"
    r"|evaluation|judge?ment|assessment|json|output|version|result)\b[^\n]{0,40}$",
    re.I | re.M,
)
#: An object that only shows the form.
_EXAMPLE = re.compile(r"\b(?:example|e\.g\.)[^\n]{0,20}\s*(?:```\w*\s*)?$", re.I)
#: A reason that takes the number back; the greatest number of the scale follows.
_REVISED = (
    r"\b(?:reduced|lowered|raised|adjusted|changed|revised|corrected|increased|dropped|downgraded"
    r"|upgraded)[ ](?:it[ ])?(?:down[ ]|up[ ])?to[ ](?:an?[ ])?"
    r"\d+(?:[.,]\d+)?[ ]?(?:/|out of)[ ]?{top}\b"
)
_DIFFERENCES = re.compile(
    r"^[^\w\n]{0,30}(?:step[ ]*(?:1|one)\b[^\n]{0,80}|[^\n:]{0,40}\bdifferences?\b[^\n:]{0,40}"
    r"|[^\n:]{0,30}\bchanges\b[^\n:]{0,20}|[^\n]{0,20}(?:差异|差異|変化|unterschiede|diferencias)[^\n:]{0,20})"
    r"(?::|$)",
    re.I | re.M,
)
_NEXT_STEP = re.compile(
    r"^[^\w\n]{0,30}(?:step[ ]*(?:2|two)\b|scor(?:e|es|ing)\b|evaluation\b)", re.I | re.M
)


def parse(
    text: str, scores_asked: Sequence[str], vocabulary: Vocabulary, *, finish: str = "stop"
) -> Parsed:
    """Read the scores that were asked for out of an answer, by the names in `vocabulary`.

    A score that is missing, ambiguous, contradictory or out of range becomes a problem, never a
    number. With no scores asked for, the list of differences is what must be there.
    """
    asked = tuple(dict.fromkeys(scores_asked))
    if unknown := [name for name in asked if name not in vocabulary.labels]:
        raise ValueError(f"no such score: {unknown[0]}")
    body = without_thoughts(uniform(text))
    cut = finish.strip().lower() in _CUT
    if not body:
        why = "the answer was cut off before it began" if cut else "the answer is empty"
        return Parsed(asked, problems=[why], refused=is_filtered(finish))
    everything = find_objects(body)
    objects = [one for one in everything if not _is_example(body, one)]
    scale = stated_scale(body, vocabulary.scale)
    found = [one for whole in objects for one in json_scores.candidates(whole, scale, vocabulary)]
    rest = plain(_blanked(body, everything, vocabulary))
    in_tables, rest = take_tables(_without_tail(rest) if cut else rest, scale, vocabulary)
    found += in_tables
    found += prose_scores.candidates(rest, scale, vocabulary)
    scores: dict[str, Scored] = {}
    problems: list[str] = []
    for name in asked:
        given = [one for one in found if one.score == name]
        decided = _decide(vocabulary, name, given, body)
        if isinstance(decided, Scored):
            scores[name] = decided
        else:
            problems.append(decided)
    differences = _differences(objects, rest, vocabulary)
    if not asked and differences is None:
        problems.append("the list of differences is missing")
    refused = not scores and (is_filtered(finish) or (bool(problems) and is_refusal(body)))
    if refused:
        problems = ["the answer declines to judge"]
    elif cut and problems:
        problems.append("the answer was cut off: keep it shorter")
    return Parsed(asked, scores, differences or [], problems, refused)


def _decide(vocabulary: Vocabulary, name: str, found: list[Candidate], body: str) -> Scored | str:
    label = f'the score for "{vocabulary.labels[name].key}"'
    found = [one for one in found if not one.generic] or found
    if not found:
        return f"{label} is missing"
    if len({(one.value, one.problem) for one in found}) > 1:
        found = _after_final_line(found, body)
    values = sorted({one.value for one in found if one.value is not None})
    troubles = list(dict.fromkeys(one.problem for one in found if one.problem))
    if len(values) > 1:
        said = " and ".join(f"{value:g}" for value in values[:4])
        return f"{label} is given more than once and differs ({said})"
    if values and troubles:
        return f"{label} is given as {values[0]:g}, but elsewhere it {troubles[0]}"
    if troubles:
        return f"{label} {troubles[0]}"
    reason = max((one.reason for one in found), key=len)
    if re.search(_REVISED.replace("{top}", str(vocabulary.scale.top)), reason, re.I):
        return f"{label} is given as {values[0]:g} and revised in the reason"
    return Scored(values[0], reason)


def _is_example(body: str, found: Found) -> bool:
    return bool(_EXAMPLE.search(body[max(0, found.start - 60) : found.start]))


def _after_final_line(found: list[Candidate], body: str) -> list[Candidate]:
    marks = [match.start() for match in _FINAL_LINE.finditer(body)]
    later = [one for one in found if marks and one.position >= marks[-1]]
    return later or found


def _blanked(body: str, objects: list[Found], vocabulary: Vocabulary) -> str:
    """The text outside of the objects, every character in its place.

    An object without the name of a score stays: it may be a piece of broken JSON.
    """
    pieces: list[str] = []
    done = 0
    for one in objects:
        if not vocabulary.label.search(body, one.start, one.end):
            continue
        pieces += [body[done : one.start], BLANK * (one.end - one.start)]
        done = one.end
    return "".join(pieces) + body[done:]


def _without_tail(text: str) -> str:
    """A cut-off answer without its last characters, where a number may be half a number."""
    tail = _TAIL.search(text)
    return text[: tail.start()] + BLANK if tail else text


def _differences(objects: list[Found], rest: str, vocabulary: Vocabulary) -> list[str] | None:
    for one in reversed(objects):
        if (listed := json_scores.differences(one)) is not None:
            return listed
    head = _DIFFERENCES.search(rest)
    if not head:
        return None
    end = len(rest)
    for pattern in (_NEXT_STEP, vocabulary.label):
        stop = pattern.search(rest, head.end())
        end = min(end, stop.start() if stop else end)
    section = rest[head.end() : end]
    bullets = re.findall(r"^[ \t]*(?:[-•·+–]|\d{1,2}[.)])[ \t]+([^\n]+)", section, re.M)
    lines = bullets or section.split("\n")
    return [clean for line in lines if len(clean := tidy(line)) > 2][:100]


def complaint(parsed: Parsed, vocabulary: Vocabulary) -> str:
    """What to send back to the model: what was wrong, and exactly what is still needed."""
    if parsed.complete:
        return ""
    lines = ["Your last answer could not be used:"]
    lines += [f"- {problem}" for problem in parsed.problems]
    if parsed.missing:
        labels = [vocabulary.labels[name] for name in parsed.missing]
        names = " and ".join(label.words for label in labels)
        wanted = ", ".join(
            f'"{label.key}": {{"reason": "<short reason>", "score": <number>}}' for label in labels
        )
        scale = f"{vocabulary.scale.low} to {vocabulary.scale.top}"
        lines.append(
            f"Give {names} now, each as one number from {scale} (no range, no text in its place)."
        )
    else:
        wanted = '"differences": ["<one visible difference>", "<another one>"]'
        lines.append("List the visible differences now; the list is empty if there are none.")
    lines.append(f"Answer with this JSON object and nothing else: {{{wanted}}}")
    return "\n".join(lines)
