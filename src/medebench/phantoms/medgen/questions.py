"""The four tasks that ask for a text: a choice, a gap, a sentence, a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.medgen.picture_styles import Pixels, picture_of
from medebench.phantoms.medgen.record import OF_THE_PICTURE, Record
from medebench.phantoms.medgen.scene import (
    KINDS,
    MODALITIES,
    SIDES,
    THIRDS,
    Scene,
    sample_scene,
)
from medebench.phantoms.medgen.terms import (
    NUMBERS,
    TERMS,
    half,
    named,
    seen,
    sides_of,
)

#: How many lesions the scene of a number has; the questions go round with it.
_COUNTS = (None, 1, None, 1, 2, 1)
_GAP = "_____"
_PLACES = ("first", "second", "third", "fourth")
#: Beside the six styles, in questions about the kind of picture.
_OTHERS = ("Endoscopy", "PET")


@dataclass(frozen=True)
class Quiz:
    """The scene that the questions of one number are about, and a generator of their details."""

    seed: int
    number: int

    @cached_property
    def scene(self) -> Scene:
        count = _COUNTS[self.number % len(_COUNTS)]
        return sample_scene(self.seed, f"question {self.number}", count)

    @cached_property
    def picture(self) -> Pixels:
        return picture_of(self.scene)

    @property
    def turn(self) -> int:
        return self.number % len(_COUNTS)

    def draw(self, task: str) -> Draw:
        return Draw(stream(self.seed, f"medgen {task} {self.number}"))

    def pictures(self) -> dict[str, Pixels]:
        return {"previous": self.picture}


def multiple_choice(seed: int, number: int) -> Record:
    quiz = Quiz(seed, number)
    scene, d = quiz.scene, quiz.draw("multiple-choice")
    kinds = [TERMS[scene.modality].kinds[kind][0] for kind in KINDS]
    if quiz.turn == 0:
        right = named(scene) if scene.lesions else "no lesion"
        return _chosen(quiz, d, "What does the picture show?", [*kinds, "no lesion"], right)
    if quiz.turn in (1, 5):
        spots = [f"{third} third, {half(scene, side)}" for side in SIDES for third in THIRDS]
        [one] = scene.lesions
        right = f"{one.third} third, {half(scene, one.side)}"
        asked = f"Where does the {named(scene)} lie? {OF_THE_PICTURE}"
        return _chosen(quiz, d, asked, [*spots, "there is none"], right)
    if quiz.turn == 2:
        counts = [word.replace("no", "none") for word in NUMBERS]
        asked = f"How many {named(scene, 2)} are there?"
        return _chosen(quiz, d, asked, counts, counts[scene.count])
    if quiz.turn == 3:
        given = [*MODALITIES, *_OTHERS]
        asked = "Which kind of picture is this?"
        return _chosen(quiz, d, asked, given, scene.modality)
    return _which_image(quiz, d)


def _which_image(quiz: Quiz, d: Draw) -> Record:
    """Four pictures of one style, one of them with lesions."""
    at = d.whole(0, 3)
    shown = [
        quiz.scene if one == at else replace(quiz.scene.healthy(), noise=d.whole(0, 2**31 - 1))
        for one in range(4)
    ]
    roles = ("previous", "image2", "image3", "image4")
    pictures = {role: picture_of(scene) for role, scene in zip(roles, shown, strict=True)}
    asked = f"Which of the four images shows {NUMBERS[quiz.scene.count]} {named(quiz.scene, 2)}?"
    given = [f"the {place} image" for place in _PLACES]
    return _chosen(quiz, d, asked, given, given[at], pictures, shuffled=False)


def _chosen(
    quiz: Quiz,
    d: Draw,
    asked: str,
    given: Sequence[str],
    right: str,
    pictures: dict[str, Pixels] | None = None,
    shuffled: bool = True,
) -> Record:
    """Options in a drawn order, under letters; the instruction repeats them."""
    rest, order = list(given), []
    while rest:
        order.append(rest.pop(d.whole(0, len(rest) - 1) if shuffled else 0))
    choices = [f"{chr(65 + n)}. {text}" for n, text in enumerate(order)]
    prompt = "\n".join([asked, "Options:", *choices])
    found = quiz.pictures() if pictures is None else pictures
    answer = choices[order.index(right)]
    return Record(prompt, quiz.scene.modality, found, answer, choices=choices)


def blank_filling(seed: int, number: int) -> Record:
    quiz = Quiz(seed, number)
    scene, d = quiz.scene, quiz.draw("blank-filling")
    if quiz.turn == 4:
        return _changed(quiz, d)
    if scene.count != 1:
        word = NUMBERS[scene.count]
        lead = f"The picture shows {_GAP} {named(scene, 2)} (a number in words, or no)."
    elif quiz.turn == 1:
        [one] = scene.lesions
        word = one.side
        lead = f"The {named(scene)} lies in the {half(scene, one.side)}."
        lead = lead.replace(one.side, _GAP, 1) + f" {OF_THE_PICTURE}"
    elif quiz.turn == 3:
        [one] = scene.lesions
        word = one.third
        lead = f"The {named(scene)} lies in the {_GAP} third of its side."
    else:
        word = named(scene)
        lead = f"The {TERMS[scene.modality].picture} shows one {_GAP}."
    prompt = f"Fill the gap with what the picture shows.\n{lead}"
    return Record(prompt, scene.modality, quiz.pictures(), word, word)


def _changed(quiz: Quiz, d: Draw) -> Record:
    """The same scene before and after: what lies there has grown or shrunk."""
    word = d.pick(("grown", "shrunk"))
    small, large = picture_of(quiz.scene.grown(0.85)), picture_of(quiz.scene.grown(1.25))
    pictures = {"previous": small, "image2": large}
    if word == "shrunk":
        pictures = {"previous": large, "image2": small}
    lead = f"From the first to the second image the {named(quiz.scene, 2)} have {_GAP}"
    prompt = f"Fill the gap with grown or shrunk.\n{lead}."
    return Record(prompt, quiz.scene.modality, pictures, word, word)


def question_answering(seed: int, number: int) -> Record:
    quiz = Quiz(seed, number)
    scene = quiz.scene
    if scene.count != 1:
        asked, key = f"How many {named(scene, 2)} are there, and where?", NUMBERS[scene.count]
        key = key if scene.lesions else f"no {named(scene)}"
        answer = seen(scene)
    elif quiz.turn == 3:
        answer = f"The {TERMS[scene.modality].picture} shows a {named(scene)}."
        asked, key = "What is abnormal in this picture?", named(scene)
    else:
        [one] = scene.lesions
        answer = f"The {named(scene)} lies in the {half(scene, one.side)}."
        asked, key = f"On which side does the {named(scene)} lie?", one.side
    prompt = f"{asked} Answer in one sentence. {OF_THE_PICTURE}"
    metadata = {"correct_answer": key}
    return Record(prompt, scene.modality, quiz.pictures(), answer, key, metadata=metadata)


def report_generation(seed: int, number: int) -> Record:
    quiz = Quiz(seed, number)
    scene = quiz.scene
    clear = [half(scene, side) for side in SIDES if side not in scene.sides]
    findings = [seen(scene)]
    if scene.lesions and clear:
        findings.append(f"The {clear[0]} is clear.")
    if scene.lesions:
        words = f"{NUMBERS[scene.count]} {named(scene, scene.count)}"
        impression = f"{words[0].upper()}{words[1:]}, {_extent(scene)}."
    else:
        impression = f"No {named(scene)}."
    sections = {"findings": " ".join(findings), "impression": impression}
    answer = "\n\n".join(f"{name.upper()}:\n{text}" for name, text in sections.items())
    prompt = (
        "Write a report on this picture with the sections FINDINGS and IMPRESSION: what there is, "
        f"how many, in which third of which side. {OF_THE_PICTURE}"
    )
    return Record(
        prompt,
        scene.modality,
        quiz.pictures(),
        answer,
        sections=sections,
        metadata={"report_sections": sections},
    )


def _extent(scene: Scene) -> str:
    if sides_of(scene) == "both":
        return "on both sides"
    return f"in the {half(scene, scene.sides[0])}"


QUESTIONS: dict[str, Callable[[int, int], Record]] = {
    "multiple-choice": multiple_choice,
    "blank-filling": blank_filling,
    "question-answering": question_answering,
    "report-generation": report_generation,
}
