"""Plants flaws into a set of cases and counts how many of them the audit finds.

    python tools/planted_flaws.py ../shared/medebench-sample
    python tools/planted_flaws.py phantoms:count=130 --seeds 3

Nothing is written into the set. Flaws are planted by rules of their own, not by those that look for
them; only half words need a list of words, so that no whole word is planted as half of another.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from medebench.audit.audited_case import Seen
from medebench.audit.file_facts import Gathered, gather
from medebench.audit.known_words import Vocabulary
from medebench.audit.mojibake import undone
from medebench.audit.pair_checks import pair_facts, pair_findings
from medebench.audit.text_checks import text_findings
from medebench.cases import Case, CaseSet, load_cases
from medebench.metrics.intended import OTHER_PHOTOGRAPH

FIELDS = ("prompt", "rephrased_prompt", "description")
#: Cases of the excerpt whose texts were looked at and are cut or refused: not healthy.
FLAWED = {"18", "74", "160", "464", "490", "698", "761", "850", "1000", "1126"}
TEXT_CODES = ("mojibake", "cut-text", "refused-text")

LINKS = re.compile(r"(?:the|an?|of|on|in|from|to|with|and|or|at|by|into|for|its|near|under|over)")
REFUSALS = (
    "I'm sorry, I can't assist with that.",
    "I’m sorry, but I can’t help with identifying or describing people in images.",
    "Sorry, but I can't assist with that request.",
    "I cannot provide a description of this medical image.",
    "As an AI language model, I cannot view or interpret images.",
    "As an AI, I do not have the ability to diagnose medical conditions.",
    "I apologize, but I am unable to process this image.",
    "I'm unable to determine what changed between the two pictures.",
    "Unable to provide a description for this image.",
    "Unfortunately, I can't see any difference that I could describe.",
    "It is not possible to determine the change from the images provided.",
    "The change cannot be determined from the images.",
    "Please provide the images so that I can describe the change.",
    "No image was provided.",
    "Certainly! Here is a description of the change in the image.",
    "Here's a rephrased version of the instruction:",
    "Sure, here are three paraphrases of the prompt.",
    "If you could share the original photograph, a description can be written.",
    "This request violates our content policies.",
    "I don't feel comfortable describing this picture.",
    "I must decline to describe this person's face.",
    "I can't help with that.",
    "Let me know if you would like another wording.",
    "作为一个AI语言模型，我无法描述这张图片。",
    "Lo siento, no puedo ayudar con eso.",
)
#: Whole texts that are easily taken for broken ones.
HEALTHY = (
    *("Remove nevus.", "Whiten teeth.", "Remove mole", "Lift eyelid", "Take the mole off"),
    *("Put a crown on", "Even the skin tone out", "Fill the gap in", "Smooth the scar out"),
    *("Make the lips look as they were", "Close the wound up", "Take the bump off the nose"),
    *("Trim the eyebrow down", "Make both ears match", "Get rid of the mole she was born with"),
    *("Remove the mark that she was born with", "Restore the nail to how it was before"),
    *("Give vitamin A", "Remove the polyp, grade II", "Reduce swelling by 50%", "Thin it out"),
    *("Fix the dent", "Remove the cyst", "Clear up the acne", "Lighten the freckles", "Add botox"),
    *("Simulate rhinoplasty", "Apply veneers", "Straighten the septum", "Remove the xanthelasma"),
    *("Correct the strabismus", "Treat the onychomycosis", "Repair the cleft lip"),
    *("Whiten #8 and #9", "Show the result of LASIK", "Remove the tattoo", "Erase crow's feet"),
    "The patient was unable to open the eye; after surgery the eyelid is raised.",
    "Angle class I occlusion with a corrected overbite is seen after treatment.",
    "The lesion violates the vermilion border and was excised with a margin of 4 mm.",
    "No images of the left side were changed; the mole on the right cheek was removed.",
    "In the photograph (37 °C, 5 × 5 mm, ±1 mm) the naevus is no longer visible.",
    "去除左脸颊上的痣。",
    "使牙齿变白，并保持其余部分不变",
    "修复路径上的裂缝，联通牙弓",
    "使用MRI路径修复牙齿",
    "左の眼瞼の腫れを取り除いてください。",
    "ほくろを消す",
    "왼쪽 뺨의 점을 제거하세요",
    "Réduire l’œdème de la paupière gauche.",
    "Enlever la tache « café au lait » du front",
    "Effacer la cicatrice à côté de l’œil",
    "Entfernen Sie das Muttermal an der linken Wange.",
    "Den abgebrochenen Zahn ergänzen – „weiß und groß“",
    "Setz den Zahn wieder ein",
    "Nimm das Pflaster ab",
    "Quitar la mancha de la piel: ¿más clara?",
    "Remover a mancha da pele, “AMANHÔ",
    "Usuń znamię z policzka, zażółć gęślą jaźń",
    "Удалите родинку на левой щеке, витамин «В»",
    "Sol yanaktaki beni çıkarın, ışığı koruyun",
    "Αφαιρέστε τον σπίλο από το μάγουλο",
    "أزل الشامة من الخد الأيسر",
    "Xóa nốt ruồi trên má trái",
)


# --- texts --------------------------------------------------------------------------------------


def garbled(text: str, rng: random.Random) -> tuple[str, str] | None:
    """A text with a sign that is no ASCII, as meant and as read in another encoding."""
    gaps = [match.end() for match in re.finditer(r"[A-Za-z]{3,}(?= )", text)]
    if not gaps:
        return None
    at = rng.choice(gaps)
    sign = rng.choice(["’s", " – the one seen –", "é", "’s", " (5 × 5 mm)", " “so-called”", "—so"])
    meant = text[:at] + sign + text[at:]
    encoding = rng.choice(["gbk", "cp1252", "cp1252", "gbk", "mac_roman", "cp1251", "latin-1"])
    try:
        wrong = meant.encode().decode(encoding)
    except UnicodeError:
        return None
    return (meant, wrong) if wrong != meant else None


def cut_at_link(text: str, rng: random.Random) -> str | None:
    found = list(re.finditer(r"[A-Za-z]+", text))[1:]
    links = [match for match in found if LINKS.fullmatch(match[0])]
    return text[: rng.choice(links).end()] if links else None


def cut_in_word(text: str, rng: random.Random, known: Vocabulary) -> str | None:
    found = list(re.finditer(r"[A-Za-z]+", text))[1:]
    cuts = [
        (match.start() + length)
        for match in found
        for length in range(2, len(match[0]))
        if match[0].islower() and not known.knows(match[0][:length])
    ]
    return text[: rng.choice(cuts)] if cuts else None


Planted = dict[str, str]


def planted_texts(cases: CaseSet, kind: str, rng: random.Random) -> tuple[list[Case], Planted]:
    """Cases with one flawed text each, wherever one can be planted; what was meant, by id."""
    known = Vocabulary(getattr(case, field) for case in cases for field in FIELDS)
    meant: Planted = {}
    changed = []
    for number, case in enumerate(cases):
        field = FIELDS[number % len(FIELDS)]
        text = getattr(case, field) or case.prompt
        wrong: str | None
        if kind == "mojibake":
            pair = garbled(text, rng)
            meant[case.id], wrong = pair or ("", None)
        elif kind == "refusals":
            wrong = REFUSALS[number % len(REFUSALS)]
        elif kind == "cut at a link":
            wrong = cut_at_link(text, rng)
        else:
            wrong = cut_in_word(text, rng, known)
        if case.id in FLAWED or wrong is None:
            meant.pop(case.id, None)
            continue
        meant.setdefault(case.id, "")
        # A third of the texts at a time: the others of the set stay what they are.
        changed.append(replace(case, **{field: wrong}))
    return changed, meant


CODE = {
    "mojibake": "mojibake",
    "refusals": "refused-text",
    "cut at a link": "cut-text",
    "cut in a word": "cut-text",
}


def text_rates(cases: CaseSet, rng: random.Random) -> Counter[tuple[str, str]]:
    """How many were planted, found and, of mojibake, put back exactly."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, code in CODE.items():
        changed, meant = planted_texts(cases, kind, rng)
        for start in range(3):
            part = changed[start::3]
            ids = {case.id for case in part}
            others = [case for case in cases if case.id not in ids]
            found = {one.code: set(one.cases) for one in text_findings([*others, *part])}
            hit = found.get(code, set()) & ids
            counts[kind, "planted"] += len(ids)
            counts[kind, "found"] += len(hit)
            if kind == "mojibake":
                for case in part:
                    back = {undone(getattr(case, field)) for field in FIELDS}
                    counts[kind, "undone"] += meant[case.id] in back
    return counts


def false_alarms(cases: CaseSet) -> tuple[list[str], int]:
    """Healthy texts that are called broken: those of the set, and hard ones."""
    hard = [Case(f"hard-{at}", None, text) for at, text in enumerate(HEALTHY)]
    found = list(text_findings([*cases, *hard]))
    every = len(HEALTHY) + sum(
        bool(getattr(case, field)) for case in cases for field in FIELDS if case.id not in FLAWED
    )
    texts = {case.id: case.prompt for case in hard}
    wrong = [
        f"{one.code}: {case} {texts.get(case, '')}".strip()
        for one in found
        if one.code in TEXT_CODES
        for case in one.cases
        if case not in FLAWED
    ]
    return wrong, every


# --- pictures -----------------------------------------------------------------------------------


class Views:
    """The small views of the pictures of a set; every file is read once."""

    def __init__(self) -> None:
        self._read: dict[Path, Gathered] = {}

    def of(self, path: Path, mask: bool = False) -> Gathered:
        if path not in self._read:
            self._read[path] = gather(path, mask)
        return self._read[path]

    def seen(self, case: Case, turned: bool = False) -> Seen:
        assert case.previous and case.reference and case.roi
        cover = self.of(case.roi, mask=True).cover
        assert cover is not None
        pictures = (self.of(case.previous).view, self.of(case.reference).view)
        return Seen(case, {}, pair_facts(*pictures, 1 - cover if turned else cover))


def codes(seen: Iterable[Seen]) -> dict[str, set[str]]:
    return {one.code: set(one.cases) for one in pair_findings(list(seen))}


def picture_rates(cases: CaseSet, views: Views, rng: random.Random) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    pairs = [case for case in cases if case.previous and case.reference and case.roi]
    healthy = {case.id: views.seen(case) for case in pairs}
    turned = {case.id: views.seen(case, turned=True) for case in pairs}
    before = codes(healthy.values())

    def count(kind: str, code: str, planted: dict[str, Seen]) -> None:
        found = codes((healthy | planted).values()).get(code, set())
        counts[kind, "planted"] += len(planted)
        counts[kind, "found"] += len(found & planted.keys())
        counts[kind, "alarms"] += len(found - planted.keys() - before.get(code, set()))
        counts[kind, "healthy"] += len(pairs) - len(planted)

    for part in shares([case.id for case in pairs], 3, rng):
        others = [rng.choice([one for one in pairs if one.id != case_id]) for case_id in part]
        foreign = [
            replace(cases[case_id], reference=other.reference)
            for case_id, other in zip(part, others, strict=True)
        ]
        count("foreign reference", "other-photograph", {one.id: views.seen(one) for one in foreign})
    count("all masks inverted", "inverted-mask", turned)
    aligned = [
        case_id
        for case_id, one in healthy.items()
        if one.facts.pair and one.facts.pair.outside < OTHER_PHOTOGRAPH
    ]
    for part in shares(aligned, 5, rng):
        planted = {case_id: turned[case_id] for case_id in part}
        count("single inverted mask, aligned pair", "inverted-mask", planted)
    return counts


def shares(ids: list[str], count: int, rng: random.Random) -> list[list[str]]:
    mixed = rng.sample(ids, len(ids))
    return [mixed[start::count] for start in range(count)]


def rates(cases: CaseSet, seeds: Iterable[int]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    views = Views()
    for seed in seeds:
        counts += text_rates(cases, random.Random(seed))
        counts += picture_rates(cases, views, random.Random(seed))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", help="a folder, or phantoms:count=130")
    parser.add_argument("--seeds", type=int, default=3, help="so often everything is planted anew")
    options = parser.parse_args()
    cases = load_cases(options.cases)
    counts = rates(cases, range(options.seeds))
    print(f"| into {cases.name}, {options.seeds} seeds | planted | found | |")
    print("|---|---|---|---|")
    for kind in dict.fromkeys(kind for kind, _ in counts):
        planted, found = counts[kind, "planted"], counts[kind, "found"]
        more = f"undone exactly: {counts[kind, 'undone']:,}" if kind == "mojibake" else ""
        if counts[kind, "healthy"]:
            more = f"alarms: {counts[kind, 'alarms']:,} of {counts[kind, 'healthy']:,} others"
        print(f"| {kind} | {planted:,} | {found / planted:.1%} | {more} |")
    wrong, every = false_alarms(cases)
    print(f"\nfalse alarms: {len(wrong)} of {every} healthy texts ({len(wrong) / every:.2%})")
    for line in wrong:
        print(f"  {line}")


if __name__ == "__main__":
    main()
