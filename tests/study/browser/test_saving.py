"""Saving when something comes between: another tab, the end, the network, a sign-in."""

from __future__ import annotations

import httpx

from medebench.study.design import Study
from medebench.study.server.store import open_store
from tests.study.browser.person import Groups, Person, answers, token


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
    buttons = person.driver.find_elements("css selector", "#banner button")
    next(one for one in buttons if one.text == then).click()
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
    person.press("a")
    person.settle()
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
    person.press("c")
    assert person.orders["ea"] == [["A"], ["B"]]
    assert answers(study)[0].ranks["ea"] == [["A"]]
    person.driver.refresh()
    person.until(lambda: person.shown("case"))
    assert "closed" in person.text("#banner")
    assert person.orders["ea"] == [["A"]]
    assert not person.find("#skip-open").is_enabled()


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
    study, person = small
    driver = person.driver
    person.begin(token(study))
    renewed = token(study)
    person.press("a")
    person.until(lambda: "signed out" in person.text("#banner"))
    assert person.orders["ea"] == [["A"]]
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(f"{person.url}/join#{renewed}")
    person.until(lambda: person.shown("instructions"))
    driver.close()
    driver.switch_to.window(first)
    person.find("#banner button").click()
    person.settle()
    assert answers(study)[0].ranks["ea"] == [["A"]]


def test_somebody_else_at_the_same_browser_does_not_answer_for_me(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    driver = person.driver
    person.begin(token(study))
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(f"{person.url}/join#{token(study, 'annotator-2')}")
    person.until(lambda: person.shown("instructions"))
    driver.close()
    driver.switch_to.window(first)
    person.press("a")
    person.until(lambda: "Somebody else" in person.text("#banner"))
    assert answers(study) == {} and answers(study, "annotator-2") == {}
