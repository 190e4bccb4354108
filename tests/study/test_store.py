"""The answers of a study: versions, conflicts, closing; the same on both databases."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, event, make_url, text

from medebench.errors import InputError, MedebenchError, UnknownNameError
from medebench.study.design import Study
from medebench.study.server.answer_store import Store, Writer, open_store
from medebench.study.server.database import Database, DatabaseError, read_url
from medebench.study.server.security import hashed
from medebench.study.server.serve import serving
from medebench.study.server.stored_answers import Closed, Conflict, Save, Saved, SignedOut
from tests.patience import PATIENCE
from tests.study.conftest import RANKS
from tests.study.small import small_design, write_study

ME = "annotator-1"


def wish(base: int, key: str, **changes: object) -> Save:
    given: dict[str, object] = {"annotator": ME, "place": 1, "base": base, "key": key}
    return Save(**given | {"state": "draft", "ranks": RANKS} | changes)  # type: ignore[arg-type]


@pytest.fixture
def store(study: Study, database: str) -> Iterator[Store]:
    with open_store(study, database) as opened:
        yield opened


def test_versions_are_added_and_the_last_one_counts(store: Store):
    assert store.answers() == [] and store.count() == 0
    other = {"ea": [["C", "B", "A"]], "cp": [], "vq": []}
    assert isinstance(store.save(wish(0, "a", ranks=other, seconds=1.25)), Saved)
    second = store.save(wish(1, "b", state="skipped", reason="<b>blurred</b> 'x'; -- ü 🙂"))
    assert isinstance(second, Saved) and second.version == 2
    store.save(wish(0, "c", place=0))
    store.save(wish(0, "c", annotator="annotator-2"))
    assert [(one.annotator, one.place, one.version) for one in store.answers()] == [
        (ME, 0, 1),
        (ME, 1, 2),
        ("annotator-2", 1, 1),
    ]
    last = store.answers()[1]
    assert (last.state, last.reason, last.ranks) == (
        "skipped",
        "<b>blurred</b> 'x'; -- ü 🙂",
        RANKS,
    )
    assert last.saved_at == second.saved_at
    first, again = store.versions(ME, 1)
    assert again == last
    assert (first.version, first.ranks, first.seconds) == (1, other, 1.25)
    assert store.versions(ME, 1, most=1) == [last]
    assert store.states(ME) == {0: "draft", 1: "skipped"}
    assert store.count() == 4


def test_a_version_that_somebody_has_not_seen_is_not_overwritten(store: Store):
    store.save(wish(0, "a"))
    before = store.answers()
    for base in (0, 2, 7):
        outcome = store.save(wish(base, f"other-{base}", ranks={"ea": [], "cp": [], "vq": []}))
        assert outcome == Conflict(before[0])
    assert store.save(wish(3, "c", place=2)) == Conflict(None)
    assert store.answers() == before and store.count() == 1


def test_a_repeated_wish_is_answered_as_the_first_time(store: Store):
    first = store.save(wish(0, "a"))
    store.save(wish(1, "b", state="done"))
    assert store.save(wish(0, "a")) == first
    # The same key for something else would lose it silently.
    assert isinstance(store.save(wish(2, "a", state="done")), Conflict)
    assert isinstance(store.save(wish(2, "b", state="draft")), Conflict)
    assert store.save(wish(2, "a")) == first
    assert store.count() == 2


def test_a_batch_is_as_good_as_one_after_the_other(store: Store):
    batch = [wish(0, "a"), wish(0, "a"), wish(0, "b"), wish(1, "c"), wish(0, "d", place=2)]
    outcomes = store.save_all(batch)
    assert [type(one) for one in outcomes] == [Saved, Saved, Conflict, Saved, Saved]
    assert [one.version for one in outcomes if isinstance(one, Saved)] == [1, 1, 2, 1]
    assert store.count() == 3


MOVES = st.lists(
    st.tuples(
        st.sampled_from([ME, "annotator-2"]),
        st.integers(0, 1),
        st.integers(0, 4),
        st.sampled_from("abcdef"),
        st.sampled_from(["draft", "done"]),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(moves=MOVES, cut=st.integers(1, 8))
def test_any_sequence_does_what_a_plain_list_would(moves, cut):
    with tempfile.TemporaryDirectory() as folder:
        study = write_study(Path(folder) / "study", small_design(cases=1))
        model: dict[tuple[str, int], list[tuple[str, str]]] = {}
        expected = []
        for annotator, place, base, key, state in moves:
            kept = model.setdefault((annotator, place), [])
            known = {one[0]: number for number, one in enumerate(kept, 1)}
            if (key, state) in kept:
                expected.append(known[key])
            elif key not in known and base == len(kept):
                kept.append((key, state))
                expected.append(len(kept))
            else:
                expected.append(None)
        saves = [
            wish(base, key, annotator=annotator, place=place, state=state)
            for annotator, place, base, key, state in moves
        ]
        with open_store(study) as store:
            outcomes = []
            for begin in range(0, len(saves), cut):
                outcomes += store.save_all(saves[begin : begin + cut])
            assert [getattr(one, "version", None) for one in outcomes] == expected
            assert {(one.annotator, one.place): one.version for one in store.answers()} == {
                where: len(kept) for where, kept in model.items() if kept
            }


def test_of_many_tabs_at_once_exactly_one_writes_the_next_version(study: Study, database: str):
    """Each thread has connections of its own, as a process of its own would."""
    outcomes: list[object] = []
    rounds, tabs = 6, 6
    gate = threading.Barrier(tabs)

    def tab(number: int) -> None:
        with open_store(study, database) as store:
            for base in range(rounds):
                gate.wait(PATIENCE)
                outcomes.append(store.save(wish(base, f"{number}-{base}")))

    threads = [threading.Thread(target=tab, args=(number,)) for number in range(tabs)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    saved = [one.version for one in outcomes if isinstance(one, Saved)]
    assert sorted(saved) == list(range(1, rounds + 1))
    assert Counter(type(one) for one in outcomes)[Conflict] == rounds * (tabs - 1)
    with open_store(study, database) as store:
        assert [one.version for one in store.versions(ME, 1)] == sorted(saved)


PROCESS = """
import sys
from medebench.study.design import open_study
from medebench.study.server.stored_answers import Save, Saved
from medebench.study.server.serve import serving
from medebench.study.server.answer_store import open_store
ranks = {key: [] for key in ("ea", "cp", "vq")}
with open_store(open_study(sys.argv[1]), sys.argv[2]) as store:
    base = 0
    for number in range(40):
        done = store.save(Save("annotator-1", 1, base, f"{sys.argv[3]}-{number}", "draft", ranks))
        if isinstance(done, Saved):
            print(done.version)
            base = done.version
        else:
            base = done.current.version
"""


def test_processes_do_not_overwrite_each_other(study: Study, database: str):
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(study.path), database, name],
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        for name in ("one", "other")
    ]
    told = [one.communicate(timeout=PATIENCE) for one in processes]
    assert [one.returncode for one in processes] == [0, 0], told
    versions = sorted(int(line) for out, _ in told for line in out.split())
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= 40
    with open_store(study, database) as store:
        assert len(store.versions(ME, 1, most=1000)) == len(versions)


def test_closed_is_closed_until_it_is_opened_again(store: Store):
    first = store.save(wish(0, "a"))
    assert store.closed() is None
    since = store.close_study()
    assert store.closed() == since == store.close_study()
    assert store.save(wish(1, "b")) == Closed(since)
    # This one was accepted before; only its answer got lost.
    assert store.save(wish(0, "a")) == first
    store.reopen_study()
    assert store.closed() is None
    assert isinstance(store.save(wish(1, "b")), Saved)


def test_a_save_in_the_moment_of_closing_is_either_before_it_or_refused(
    study: Study, database: str
):
    with open_store(study, database) as closing:
        for _ in range(3):
            closing.reopen_study()
            begun = closing.count()
            saved: list[int] = []
            ready = threading.Barrier(4)

            def work(
                place: int, ready: threading.Barrier = ready, saved: list[int] = saved
            ) -> None:
                with open_store(study, database) as store:
                    base = len(store.versions(ME, place, most=100_000))
                    ready.wait(PATIENCE)
                    for step in range(1000):
                        outcome = store.save(wish(base + step, f"k{base + step}", place=place))
                        if not isinstance(outcome, Saved):
                            assert isinstance(outcome, Closed)
                            return
                        saved.append(1)

            threads = [threading.Thread(target=work, args=(place,)) for place in range(3)]
            for one in threads:
                one.start()
            ready.wait(PATIENCE)
            closing.close_study()
            at_closing = closing.count()
            for one in threads:
                one.join()
            assert closing.count() == at_closing == begun + len(saved)


def test_a_database_belongs_to_one_design(study: Study, database: str, tmp_path: Path):
    with open_store(study, database) as store:
        store.save(wish(0, "a"))
    other = write_study(tmp_path / "other", small_design(cases=2))
    with pytest.raises(InputError, match="holds the answers to another study"):
        open_store(other, database)
    with open_store(study, database) as store:
        assert store.count() == 1


def test_several_processes_may_make_the_tables(study: Study, database: str):
    gate = threading.Barrier(5)
    problems: list[BaseException] = []

    def make() -> None:
        gate.wait(PATIENCE)
        try:
            with open_store(study, database) as store:
                store.invite(ME)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=make) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert problems == []


def test_a_new_file_that_another_process_holds_is_waited_for(tmp_path: Path):
    path = tmp_path / "new.sqlite"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.3, holder.execute, ["COMMIT"]).start()
    database = Database(read_url(f"sqlite:///{path}"))
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE one (x)")
    database.dispose()
    assert holder.execute("SELECT name FROM sqlite_master").fetchall() == [("one",)]
    holder.close()


def test_invitations(store: Store):
    assert store.people() == {}
    token = store.invite(ME)
    assert list(store.people()) == [ME]
    assert store.is_invitation(token) and not store.is_invitation(hashed(token))
    found = store.sign_in(token)
    assert found is not None and found[0] == ME
    session = found[1]
    assert store.who(session) == ME
    for wrong in ("", "x", token + "x", token[:-1], hashed(token), session, "\ud800"):
        assert store.sign_in(wrong) is None
    assert store.who(token) is None and store.who(hashed(session)) is None

    newer = store.invite(ME)
    assert newer != token
    assert store.sign_in(token) is None and store.who(session) is None

    signed = store.sign_in(newer)
    assert signed is not None
    store.revoke(ME)
    assert store.who(signed[1]) is None and store.sign_in(newer) is None
    assert not store.is_invitation(newer) and store.people()[ME].revoked_at is not None
    assert store.is_invitation(store.invite(ME)) and store.people()[ME].revoked_at is None
    with pytest.raises(UnknownNameError, match="annotator-1, annotator-2 and admin"):
        store.invite("somebody")
    with pytest.raises(UnknownNameError):
        store.revoke("somebody")


def test_sessions_end_by_themselves(store: Store, monkeypatch: pytest.MonkeyPatch):
    import time

    token = store.invite(ME)
    begin = time.time()
    signed = store.sign_in(token)
    assert signed is not None
    day = 24 * 3600
    monkeypatch.setattr("medebench.study.server.people.time.time", lambda: begin + 29.9 * day)
    assert store.who(signed[1]) == ME
    monkeypatch.setattr("medebench.study.server.people.time.time", lambda: begin + 30.1 * day)
    assert store.who(signed[1]) is None
    assert store.save(wish(0, "a", session=hashed(signed[1]))) == SignedOut()
    assert store.sign_in(token) is not None


def test_signing_out_ends_one_session(store: Store):
    token = store.invite(ME)
    one, other = store.sign_in(token), store.sign_in(token)
    assert one is not None and other is not None and one[1] != other[1]
    store.sign_out(one[1])
    assert store.who(one[1]) is None and store.who(other[1]) == ME


def test_a_save_needs_its_session_in_the_moment_of_writing(store: Store):
    mine, theirs = store.sign_in(store.invite(ME)), store.sign_in(store.invite("annotator-2"))
    assert mine is not None and theirs is not None
    saves = [
        wish(0, "a", session=hashed(mine[1])),
        wish(1, "b", session=hashed(theirs[1])),
        wish(1, "c", session="made up"),
    ]
    assert [type(one) for one in store.save_all(saves)] == [Saved, SignedOut, SignedOut]
    store.revoke(ME)
    assert store.save(wish(1, "d", session=hashed(mine[1]))) == SignedOut()
    assert store.count() == 1


def test_the_writer_finishes_what_it_was_given(store: Store):
    writer = Writer(store)
    futures = [writer.submit(wish(0, "a", place=place)) for place in range(300)]
    writer.close()
    assert all(isinstance(one.result(0), Saved) for one in futures)
    assert store.count() == 300
    with pytest.raises(MedebenchError, match="ending"):
        writer.submit(wish(1, "b"))
    writer.close()


def test_a_save_that_the_database_refuses_takes_no_other_along(store: Store):
    bad = [wish(0, "x", place=7, state="nonsense"), wish(0, "y", place=8, seconds=-1.0)]
    good = [wish(0, "a", place=place) for place in range(3)]
    writer = Writer(store)
    with store._database.writing():  # so that all of them are in one batch
        futures = [writer.submit(one) for one in (good[0], bad[0], good[1], bad[1], good[2])]
    writer.close()
    assert [one.exception(0) is None for one in futures] == [True, False, True, False, True]
    assert store.count() == 3


# What goes wrong, in one line


def refused(study: Study, url: str) -> str:
    with pytest.raises(InputError) as caught:
        open_store(study, url)
    line = str(caught.value)
    assert "\n" not in line and "Traceback" not in line and "sqlalche.me" not in line
    return line


def test_other_databases_are_refused_without_repeating_the_password(study: Study):
    for url in ("mysql://me:hunter2@host/db", "hunter2", "postgresql://me:hunter2@host:port/db"):
        line = refused(study, url)
        assert "hunter2" not in line and "sqlite:///FILE" in line
    pytest.importorskip("psycopg")
    for options in ("user=me&password=hunter2", "sslpassword=hunter2"):
        line = refused(study, f"postgresql://127.0.0.1:1/nowhere?{options}")
        assert "hunter2" not in line and "127.0.0.1:1/nowhere: " in line
    for url in ("sqlite://", "sqlite:///:memory:"):
        assert "sqlite:///FILE" in refused(study, url)


def test_a_file_that_is_no_database(study: Study, tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database at all, but longer than a header\n" * 40)
    assert "is not an SQLite database" in refused(study, f"sqlite:///{file}")
    assert file.read_text().startswith("not a database")


def test_a_folder_that_is_not_there_or_a_folder_itself(study: Study, tmp_path: Path):
    assert "check that its folder" in refused(study, f"sqlite:///{tmp_path / 'no' / 'a.sqlite'}")
    assert "cannot be opened" in refused(study, f"sqlite:///{tmp_path}")


def test_a_database_that_cannot_be_written(study: Study, tmp_path: Path):
    """It can still be read: results may be computed from a protected copy."""
    with open_store(study, f"sqlite:///{tmp_path / 'a.sqlite'}") as store:
        store.save(wish(0, "a"))
    url = f"sqlite:///file:{tmp_path / 'a.sqlite'}?mode=ro&uri=true"
    with open_store(study, url) as store:
        assert len(store.answers()) == 1
        for write in (lambda: store.save(wish(1, "b")), lambda: store.invite(ME)):
            with pytest.raises(DatabaseError, match="cannot be written; check the rights"):
                write()
    with pytest.raises(InputError, match="cannot be written"), serving(study, database=url):
        pass


def test_a_full_disk_loses_nothing_that_was_saved(study: Study):
    with open_store(study) as store:
        engine = store._database._engine
        for number in range(5):
            store.save(wish(number, f"before-{number}"))
        engine.dispose()
        event.listen(
            engine, "connect", lambda one, _: one.execute("PRAGMA max_page_count = 1").close()
        )
        with pytest.raises(DatabaseError, match="the disk is full"):
            for number in range(5, 2000):
                store.save(wish(number, f"after-{number}", reason="x" * 500))
        kept = store.count()
    with open_store(study) as store:
        assert store.count() == kept >= 5
        assert isinstance(store.save(wish(kept, "room again")), Saved)


def test_postgresql_that_refuses_or_is_not_there(study: Study, postgres_url: str):
    url = make_url(postgres_url)
    assert isinstance(url.password, str)
    wrong = url.set(password="hunter2:@").render_as_string(hide_password=False)
    line = refused(study, wrong)
    assert "password authentication failed" in line
    assert "hunter2" not in line and "***" in line
    options = {"password": "hunter3"}
    line = refused(study, url.set(password=None, query=options).render_as_string())
    assert "password authentication failed" in line and "hunter3" not in line
    nowhere = url.set(database="nowhere").render_as_string(hide_password=False)
    line = refused(study, nowhere)
    assert '"nowhere" does not exist' in line and url.password not in line
    line = refused(study, url.set(port=1).render_as_string(hide_password=False))
    assert "refused" in line and url.password not in line


def test_a_restarted_postgresql_is_found_again(study: Study, postgres_url: str):
    admin = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"))
    with open_store(study, postgres_url) as store:
        assert isinstance(store.save(wish(0, "a")), Saved)
        with admin.begin() as db:
            db.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        assert isinstance(store.save(wish(1, "b")), Saved)
        assert store.count() == 2
    admin.dispose()


def test_postgresql_that_answers_before_the_disk_has_it_is_told_not_to(
    study: Study, postgres_url: str
):
    admin = create_engine(
        make_url(postgres_url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with admin.connect() as db:
        name = db.execute(text("SELECT current_database()")).scalar_one()
        db.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    admin.dispose()
    with open_store(study, postgres_url) as store, store._database.writing() as db:
        assert db.execute(text("SHOW synchronous_commit")).scalar_one() == "on"


def test_sqlite_waits_for_the_disk(study: Study):
    with open_store(study) as store, store._database.writing() as db:
        found = {
            name: db.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 20_000,
    }


def test_a_path_with_odd_characters(tmp_path: Path):
    study = write_study(tmp_path / "my study?a=1#ü%20", small_design())
    with open_store(study) as store:
        store.save(wish(0, "a"))
    assert (study.path / "answers.sqlite").is_file()
