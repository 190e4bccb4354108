"""Metrics of texts: 10,000 answers through all that need no network, and the usual packages.

python bench/text_bench.py     one process, one thread; every answer and every reference is another

Times are processor time, which other work on the machine disturbs least.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

import numpy as np
from others import REFERENCES

from medebench.cases import Case, OpenCase, open_case
from medebench.metrics import METRICS, BatchMetric, Metric, Subject, Undefined, find_metric
from medebench.metrics.text.finding_words import lexicon
from medebench.outputs import Output

COUNT = 10_000
#: What is around findings in answers; 12 to 90 words make one.
FILLERS = (
    "there is", "no", "with", "in the left lung", "on the right", "small", "mild", "seen on this",
    "image", "measuring 3.5 cm", "which may represent", "stable compared with the prior study,",
    "and", "or", "without", "the patient", "is noted.", "adjacent to the", "axial view",
)  # fmt: skip
_NO_PICTURE = np.zeros((0, 0, 3), np.uint8)


def texts(count: int, seed: int) -> Iterator[str]:
    """Made of the lexicon's findings and what stands around them in reports."""
    generator, findings = np.random.default_rng(seed), list(lexicon().seen_in)
    for number in range(count):
        words = generator.choice(FILLERS, generator.integers(4, 30)).tolist()
        for place in range(0, len(words), 3):
            words[place] = str(generator.choice(findings))
        yield f"{' '.join(words)} in view {number}."


def cases_and_answers(count: int) -> list[tuple[OpenCase, str]]:
    """Questions of all four kinds, answered partly in the words of the reference."""
    tasks = ("multiple-choice", "blank-filling", "question-answering", "report-generation")
    made = []
    for number, (due, other) in enumerate(zip(texts(count, 0), texts(count, 1), strict=True)):
        task, picked = tasks[number % 4], "ABCD"[number // 4 % 4]
        said, key, choices = f"{due[: len(due) // 2]} {other}", "", ()
        if task == "multiple-choice":
            options = ("liver", "left lung", "spleen", f"view {number}")
            choices = tuple(f"{letter}. {one}" for letter, one in zip("ABCD", options, strict=True))
            due, said = choices[number % 3], f"The answer is {picked}."
        elif task == "report-generation":
            due, said = (
                f"FINDINGS: {due}\nIMPRESSION: {other}",
                f"FINDINGS: {said}\nIMPRESSION: {due}",
            )
        elif task == "blank-filling":
            due = key = f"left lung {number}"
            said = f"the {due} lobe"
        case = Case(str(number), None, f"What is ____ here ({number})?", task=task)
        made.append((open_case(_with(case, due, key, choices)), said))
    return made


def _with(case: Case, answer: str, key: str, choices: Sequence[str]) -> Case:
    return replace(case, answer=answer, key=key, choices=tuple(choices))


def lexical_metrics() -> list[Metric | BatchMetric]:
    """All built-in metrics of texts that need no network."""
    found = (find_metric(name) for name in METRICS.builtin)
    return [one for one in found if isinstance(one, Metric | BatchMetric) and one.of == "text"]


def score_all(given: Sequence[tuple[OpenCase, str]]) -> dict[str, tuple[float, int]]:
    """By metric, the seconds that it took and how many had a number; answer by answer."""
    told: dict[str, tuple[float, int]] = {}
    metrics = []
    for one in lexical_metrics():
        begin = time.process_time()
        metrics.append(one.over(case.case for case, _ in given) if _is_batch(one) else one)
        told[one.name] = time.process_time() - begin, 0
    for case, said in given:
        for one in metrics:
            begin, scored = time.process_time(), 1
            try:
                _score(one, case, said)
            except Undefined:
                scored = 0
            seconds, count = told[one.name]
            told[one.name] = seconds + time.process_time() - begin, count + scored
    return told


def _is_batch(one: Metric | BatchMetric) -> TypeGuard[BatchMetric]:
    return isinstance(one, BatchMetric)


def _score(one: Metric | BatchMetric, case: OpenCase, said: str) -> object:
    if not isinstance(one, BatchMetric):
        return one.measure(case, said)
    prepared = one.prepare(Subject(case, _NO_PICTURE, whole=Output(text=said)))
    (result,) = one.measure([prepared])
    if isinstance(result, Undefined):
        raise result
    return result


def packages() -> dict[str, Callable[[str, str], object]]:
    """What people call for one answer after the other, as far as it is here."""
    sys.path.append(str(REFERENCES))
    found: dict[str, Callable[[str, str], object]] = {}
    try:
        import sacrebleu

        found["bleu_sacre"] = lambda said, due: sacrebleu.sentence_bleu(said, [due])
    except ImportError:
        pass
    try:
        from rouge_score.rouge_scorer import RougeScorer

        rouge = RougeScorer(["rougeL"])
        found["rouge_l"] = lambda said, due: rouge.score(due, said)
    except ImportError:
        pass
    return found


def bench_text(count: int = COUNT) -> None:
    given = cases_and_answers(count)
    lexicon()
    told = score_all(given)
    for name, (seconds, scored) in told.items():
        print(f"  {name}: {seconds:.2f} s, {scored} of {count} have a number")
    print(
        f"Texts, {count} answers through {len(told)} lexical metrics, one core: "
        f"{sum(seconds for seconds, _ in told.values()):.1f} s"
    )
    for name, call in packages().items():
        begin = time.process_time()
        for case, said in given:
            call(said, case.case.answer)
        theirs, ours = time.process_time() - begin, told[name][0]
        print(
            f"  {name}: the package, one by one, {theirs:.2f} s; medebench {ours:.2f} s: "
            f"{theirs / ours:.1f} times as fast"
        )
    if not (Path(REFERENCES) / "sacrebleu").is_dir():
        print("  sacrebleu and rouge-score are not here (make bench gets them)")


if __name__ == "__main__":
    bench_text()
