"""Saving when something comes between: another tab, the end, the network, a sign-in."""

from __future__ import annotations

import time

import httpx

from medebench.study.design import Study
from medebench.study.server.answer_store import open_store
from medebench.study.server.stored_answers import Save
from tests.study.browser.person import (
    BACKSPACE,
    CONTROL,
    ENTER,
    KEYS,
    UP,
    Groups,
    Person,
    answers,
    token,
)

ALL = {key: [["A"], ["B"], ["C"]] for key in KEYS}


def test_another_tab_changed_the_case(small: tuple[Study, Person]) -> None:
    study, person = small
    driver = person.driver
    person.begin(token(study))
    first = driver.current_window_handle
    person.press("a")
    person.settle()
    driver.switch_to.new_window("window")
    driver.get(f"{person.url}/#case-0")
    person.until(lambda: person.shown("case"))
    person.press("b")
    person.settle()
    driver.close()
    driver.switch_to.window(first)
    conflict(person, then="Show that one")
    assert person.orders["ea"] == [["A"], ["B"]]
    # The same once more, from another device, and this time our own version stays.
    device(person, {"ea": [["C"]], "cp": [], "vq": []})
    conflict(person, then="Keep mine")
    assert person.orders["ea"] == [["A"], ["B"], ["C"]]
    person.settle()
    assert answers(study)[0].ranks["ea"] == [["A"], ["B"], ["C"]]


def conflict(person: Person, then: str) -> None:
    person.press("c")
    person.until(lambda: person.shown("banner"), "the word about the conflict")
    assert "another tab" in person.text("#banner")
    assert "Here: A" in person.text("#banner") and "There: " in person.text("#banner")
    before = person.orders
    person.press("\ue00c", "b", "\ue013")  # nothing changes before it is decided
    assert person.orders == before
    assert person.js("document.getElementById('saved').textContent") == "not saved"
    person.choose(then)
    person.until(lambda: not person.shown("banner"))


def device(person: Person, ranks: dict[str, Groups]) -> None:
    """Another device of the same person, with the cookie of this one, saves the first case."""
    with httpx.Client(base_url=person.url) as client:
        for cookie in person.driver.get_cookies():
            client.cookies.set(cookie["name"], cookie["value"])
        headers = {"X-Medebench-Token": client.get("/api/study").json()["csrf"]}
        version = client.get("/api/tasks/0").json()["version"]
        body = {"version": version, "key": "another-device", "state": "draft", "ranks": ranks}
        body |= {"reason": "", "seconds": 1}
        answer = client.put("/api/tasks/0", json=body, headers=headers)
        assert answer.status_code == 200, answer.text


def test_coming_back_to_a_tab_shows_what_another_one_saved(small: tuple[Study, Person]) -> None:
    study, person = small
    driver = person.driver
    person.begin(token(study))
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(f"{person.url}/#case-0")
    person.until(lambda: person.shown("case"))
    person.press("b")
    person.settle()
    driver.close()
    driver.switch_to.window(first)
    person.until(lambda: person.orders["ea"] == [["B"]], "what the other tab saved")
    # What was asked for before a save, and answered after it, does not take the save back.
    back = "document.dispatchEvent(new Event('visibilitychange'))"
    person.hold("/api/tasks/0", lambda: driver.execute_script(back))
    person.press("a")
    person.settle()
    person.meddle({})
    time.sleep(0.1)
    assert person.orders["ea"] == [["B"], ["A"]]
    assert answers(study)[0].ranks["ea"] == [["B"], ["A"]]


def test_a_closed_study_is_read_only(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    person.press("a")
    person.settle()
    with open_store(study) as store:
        store.close_study()
    person.press("b")
    person.until(lambda: person.shown("banner"))
    assert "closed" in person.text("#banner")
    assert "not kept" in person.text("#banner")
    person.until(lambda: person.orders["ea"] == [["A"]], "what was kept")
    person.press("c")
    assert person.orders["ea"] == [["A"]] == answers(study)[0].ranks["ea"]
    assert person.find('.list[data-key="ea"]').get_attribute("aria-disabled") == "true"
    person.driver.refresh()
    person.until(lambda: person.shown("case"))
    assert "closed" in person.text("#banner")
    assert not person.find("#skip-open").is_enabled()
    with open_store(study) as store:
        store.reopen_study()
    person.choose("Look again")
    person.until(lambda: not person.shown("banner"), "open again")
    person.press("c")
    person.settle()
    assert answers(study)[0].ranks["ea"] == [["A"], ["C"]]


def test_without_a_connection_nothing_is_lost(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    person.driver.execute_cdp_cmd("Network.enable", {})
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    person.driver.execute_cdp_cmd("Network.emulateNetworkConditions", network | {"offline": True})
    try:
        person.press("a", "b")
        person.until(lambda: "no connection" in person.text("#banner"))
        assert person.js("document.getElementById('saved').textContent") == "not saved"
        stays = person.js("!window.dispatchEvent(new Event('beforeunload', {cancelable: true}))")
        assert stays  # the browser asks before the page is left
    finally:
        person.driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions", network | {"offline": False}
        )
    person.settle()
    person.until(lambda: not person.shown("banner"))
    assert answers(study)[0].ranks["ea"] == [["A"], ["B"]]
    assert len(person.errors()) > 0  # the console noted the lost connection


def test_a_new_invitation_ends_the_old_session_and_keeps_the_change(
    small: tuple[Study, Person],
) -> None:
    """Also one that the server had taken before the session ended: it is not one's own rival."""
    study, person = small
    person.begin(token(study))
    person.meddle({"PUT": "lost"})
    person.press("a")
    person.until(lambda: answers(study) and "no connection" in person.text("#banner"))
    renewed = token(study)
    person.meddle({})
    person.until(lambda: "signed out" in person.text("#banner"))
    person.press("b")
    assert person.orders["ea"] == [["A"], ["B"]]
    person.beside(f"/join#{renewed}")
    person.choose("Try again")
    person.settle()
    assert not person.shown("banner")
    assert answers(study)[0].ranks["ea"] == [["A"], ["B"]]
    assert answers(study)[0].version == 2


def test_somebody_else_at_the_same_browser_does_not_answer_for_me(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    theirs = {"ea": [["C"], ["B"]], "cp": [], "vq": []}
    with open_store(study) as store:
        for place in (0, 1):
            store.save(Save("annotator-2", place, 0, f"theirs-{place}", "draft", theirs))
    person.begin(token(study))
    person.beside(f"/join#{token(study, 'annotator-2')}")
    person.until(lambda: "Somebody else" in person.text("#banner"))
    assert person.orders["ea"] == []  # not what the other one has ranked
    person.press("a")
    person.until(lambda: "not saved" in person.text("#saved"))
    person.jump(1)
    person.press("b")
    assert person.place == 0 and person.orders["ea"] == [["A"], ["B"]]
    assert answers(study) == {}
    person.beside(f"/join#{token(study)}")
    person.choose("Try again")
    person.settle()
    assert answers(study)[0].ranks["ea"] == [["A"], ["B"]]
    assert {place: one.ranks for place, one in answers(study, "annotator-2").items()} == {
        0: theirs,
        1: theirs,
    }


def test_nothing_can_be_changed_while_the_next_case_is_on_its_way(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    person.begin(token(study))
    for _ in KEYS:
        person.press("a", "b", "c", ENTER)
    person.at_place(1)
    person.jump(0)
    person.at_place(0)
    person.hold("/api/tasks/1", lambda: person.press("c", ENTER))
    person.press(BACKSPACE, UP, "=", "1")
    person.drag("cp", "C", 0)
    person.press("z", held=CONTROL)
    # Also not by what was begun before and ends after: a drag that the next case interrupts.
    person.chain().click_and_hold(person.chip("ea", "C")).move_by_offset(8, 8).perform()
    assert person.orders == ALL and person.place == 0
    person.meddle({})
    person.at_place(1)
    person.chain().move_to_element(person.slot("ea", 0)).release().perform()
    person.press("a")
    person.settle()
    found = answers(study)
    assert (found[0].state, found[0].ranks, found[1].ranks["ea"]) == ("done", ALL, [["A"]])
    # Two cases asked for: the one that was asked for last is opened, whichever comes last.
    person.hold("/api/tasks/2", lambda: person.jump(2))
    person.jump(3)
    person.at_place(3)
    person.meddle({})
    time.sleep(0.1)
    person.press("b")
    person.settle()
    assert person.place == 3 and person.orders["ea"] == [["B"]]
    assert set(answers(study)) == {0, 1, 3}


def test_what_was_refused_is_said_and_taken_back(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    person.meddle({"PUT": 404})
    person.press("a")
    person.until(lambda: "did not take this answer" in person.text("#banner"))
    person.meddle({})
    person.press("b")
    person.settle()
    assert not person.shown("banner")
    assert answers(study)[0].ranks["ea"] == [["A"], ["B"]]
    person.meddle({"POST": "off"})
    person.find("#open-cases").click()
    person.find("#sign-out").click()
    person.until(lambda: person.shown("banner"))
    assert "You are still signed in: no connection" in person.text("#banner")
    person.meddle({})
    person.find("#open-cases").click()
    person.find("#sign-out").click()
    person.until(lambda: person.text("h1") == "Please open your invitation link")
