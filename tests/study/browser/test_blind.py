"""What the page shows and tells: texts as texts, no model, places as an order."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from medebench.study.design import LETTERS, Study
from tests.study.browser.person import Groups, Person, at, token
from tests.study.small import MODELS, small_design, write_study

HOSTILE = (
    "<script>window.hit=1</script><img src=x onerror='window.hit=2'> <b>bold</b> \"q\" 'q' "
    "{{7*7}} שלום مرحبا 🦷 " + "a long instruction that goes on and on " * 20
)


def test_texts_with_html_are_shown_as_text(driver: Any, tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", small_design(instruction=HOSTILE))
    with at(driver, study) as person:
        person.begin(token(study))
        assert person.js("document.querySelector('.instruction').lastChild.textContent") == HOSTILE
        assert person.js("document.querySelectorAll('.texts script, .texts img').length") == 0
        assert person.js("window.hit ?? null") is None
        # Inline script is refused by the policy even if it got into the page.
        person.driver.execute_script(
            "const s = document.createElement('script'); s.textContent = 'window.hit = 3';"
            "document.body.append(s);"
        )
        assert person.js("window.hit ?? null") is None
        assert [one for one in person.errors() if "Content Security Policy" in one]


def test_no_model_can_be_told_from_page_or_requests(small: tuple[Study, Person]) -> None:
    study, person = small
    person.requests()
    person.begin(token(study))
    person.press("a", "b", "c")
    person.settle()
    told = json.dumps(person.js("fetch('/api/tasks/0').then(r => r.text())"))
    everything = "\n".join([person.driver.page_source, told, *person.requests()])
    assert "/pictures/0/A.png" in everything
    for name in (*MODELS, "secret", "case-0", "source-0", "x0y0", "runs/"):
        assert name not in everything.replace("#case-0", "")


def test_places_move_as_a_plain_order_would(small: tuple[Study, Person]) -> None:
    """Random moves on random places with gaps and ties, against lists without gaps."""
    _, person = small
    person.driver.get(f"{person.url}/")
    chance = random.Random(0)
    calls, expected = [], []
    for _ in range(600):
        size = chance.randint(2, 7)
        slots: Groups = [[] for _ in range(size)]
        letters = list(LETTERS[:size])
        for letter in letters:
            if chance.random() < 0.8:
                slots[chance.randrange(size)].append(letter)
        letter = chance.choice(letters)
        kind = chance.choice(["put", "insert", "append", "better", "worse", "tieAbove", "unrank"])
        at_ = chance.randrange(size + (kind == "insert"))
        calls.append([kind, slots, letter, at_])
        expected.append(moved(kind, slots, letter, at_))
    found = person.driver.execute_async_script(
        "const [calls, done] = arguments;"
        "import('/static/ranking.js').then(rank => done(calls.map(([kind, slots, ...rest]) => {"
        "  const after = rank[kind](slots, ...rest);"
        "  return [rank.squeeze(after), after.length === slots.length];"
        "})));",
        calls,
    )
    for call, groups, (shown, same_size) in zip(calls, expected, found, strict=True):
        assert same_size, call
        assert shown == groups, call


def moved(kind: str, slots: Groups, letter: str, at_: int) -> Groups:
    """What a move means, said with sort keys: halves make room between places."""
    keys = {one: float(place) for place, group in enumerate(slots) for one in group}
    others = {one: key for one, key in keys.items() if one != letter}
    own = keys.get(letter)
    tied = own in others.values()
    before = [key for key in others.values() if own is None or key < own]
    after = [key for key in others.values() if own is not None and key > own]
    end = max(others.values(), default=0) + 0.5
    if kind == "put":
        own = at_
    elif kind == "insert":
        own = at_ - 0.5
    elif kind == "append" or (kind in ("better", "worse") and own is None):
        own = end
    elif kind == "unrank":
        own = None
    elif kind == "tieAbove":
        own = max(before, default=own)
    elif kind == "better" and own is not None:
        own = own - 0.5 if tied else max(before, default=own + 0.5) - 0.5
    elif kind == "worse" and own is not None:
        own = own + 0.5 if tied else min(after, default=own - 0.5) + 0.5
    final = others if own is None else others | {letter: own}
    return [sorted(o for o in final if final[o] == key) for key in sorted(set(final.values()))]
