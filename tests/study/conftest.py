"""Small studies, databases and servers for the tests of this folder."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, make_url, text

from medebench.study.design import Study
from medebench.study.server.answer_store import open_store
from medebench.study.server.serve import serving
from tests.patience import PATIENCE
from tests.study.postgres import NoPostgres, postgresql
from tests.study.small import small_design, write_study

HERE = Path(__file__).parent
RANKS = {key: [["A"], ["B", "C"]] for key in ("ea", "cp", "vq")}
_numbers = itertools.count()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study", small_design())


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a PostgreSQL server; databases are made by `postgres_url`."""
    try:
        with postgresql() as url:
            yield url
    except NoPostgres as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """URL of a database of this test's own."""
    name = f"study{next(_numbers)}"
    url = make_url(postgres).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        db.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(postgres).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'own.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


class Signed(httpx.Client):
    """Somebody's browser: signed in, and sending along what the pages send."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(base_url=url, timeout=PATIENCE)
        self.token = token
        answer = self.post("/api/sign-in", json={"token": token})
        assert answer.status_code == 200, answer.text
        self.role = answer.json()["role"]
        self.refresh()

    def refresh(self) -> None:
        about = self.get("/api/admin" if self.role == "admin" else "/api/study").json()
        self.headers["x-medebench-token"] = about["csrf"]
        self.headers["content-type"] = "application/json"

    def save(self, place: int, version: int, **changes: Any) -> httpx.Response:
        body = {"version": version, "key": f"key-{next(_numbers):08d}", "state": "draft"}
        return self.put(
            f"/api/tasks/{place}", json=body | {"ranks": RANKS, "seconds": 2.5} | changes
        )


class Panel:
    """A running server and people in front of it."""

    def __init__(self, study: Study, url: str, database: str | None) -> None:
        self.study = study
        self.url = url
        self.database = database
        self._open: list[httpx.Client] = []

    def sign_in(self, name: str = "annotator-1") -> Signed:
        with open_store(self.study, self.database) as store:
            token = store.invite(name)
        return self.again(token)

    def again(self, token: str) -> Signed:
        """The same person at another device."""
        self._open.append(one := Signed(self.url, token))
        return one

    def stranger(self) -> httpx.Client:
        self._open.append(one := httpx.Client(base_url=self.url, timeout=PATIENCE))
        return one

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
def panel(study: Study) -> Iterator[Panel]:
    with serving(study) as url:
        made = Panel(study, url, None)
        yield made
        made.close()


@pytest.fixture(scope="module")
def shared_panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    """One for all tests of a file that leave nothing behind, or do not mind what others left."""
    study = write_study(tmp_path_factory.mktemp("shared") / "study", small_design())
    with serving(study) as url:
        made = Panel(study, url, None)
        yield made
        made.close()


class Process:
    """The real server in a process of its own, with tokens for everybody."""

    def __init__(self, study: Path, database: str | None = None, port: int = 0) -> None:
        call = [sys.executable, str(HERE / "server.py"), str(study), database or "", str(port)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.told: dict[str, Any] = json.loads(line)
        self.url: str = self.told["url"]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def starting(*words: Any) -> Process:
        started.append(Process(*words))
        return started[-1]

    yield starting
    for one in started:
        one.end()


@contextmanager
def loading(
    told: dict[str, Any], seconds: float, saves: int = 0
) -> Iterator[subprocess.Popen[str]]:
    """Everybody saves without a pause, in a process of its own.

    At the yield all are signed in, and so many saves are acknowledged.
    """
    call = [sys.executable, str(HERE / "load.py"), f"--seconds={seconds}", f"--tell={saves}"]
    pipe = subprocess.PIPE
    load = subprocess.Popen(call, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        assert load.stdin is not None and load.stderr is not None
        load.stdin.write(json.dumps(told) + "\n")
        load.stdin.flush()
        line = load.stderr.readline()
        assert line == "all are signed in\n", line + load.stderr.read()
        if saves:
            assert load.stderr.readline() == f"{saves} are saved\n"
        yield load
    finally:
        if load.poll() is None:
            load.kill()
        load.communicate()
