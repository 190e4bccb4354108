"""Running the server until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from medebench.errors import InputError
from medebench.study.design import Study
from medebench.study.server import admin_routes, annotator_routes, sign_in, static_pages
from medebench.study.server.admin_overview import Overview
from medebench.study.server.annotator_routes import check_study
from medebench.study.server.answer_store import Store, Writer, open_store
from medebench.study.server.security import Guard, read_origin
from medebench.study.server.service import Service, cookie_name

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

Ready = Callable[[str], None]
#: Stands in a link where the machine does not know how others call it.
UNKNOWN = "ADDRESS-OF-THIS-MACHINE"
#: Nothing is sent to these: they are set aside for examples. Where the way to them begins is the
#: address that other machines see.
_ELSEWHERE = {
    "0.0.0.0": [(socket.AF_INET, "192.0.2.1")],
    "::": [(socket.AF_INET6, "2001:db8::1"), (socket.AF_INET, "192.0.2.1")],
}
#: Newer versions of FastAPI tell others what happens here if the environment asks for it.
_NOTHING_LEAVES: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def serve(
    study: Study,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    database: str | None = None,
    origin: str | None = None,
    on_ready: Ready | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; saves under way are finished first.

    `on_ready` is called with the address once the server answers; port 0 takes a free one.
    """
    with _prepared(study, host, port, database, origin, on_ready) as (server, listening):
        server.run([listening])


def warning(host: str, origin: str | None) -> str | None:
    """What to tell whoever lets other machines in, if anything."""
    own = host in ("localhost", "::1") or host.startswith("127.")
    if own or (origin or "").startswith("https:"):
        return None
    return (
        f"{host} accepts other machines without encryption: links and rankings can be read in "
        "transit; put an https proxy in front (docs/study.md)"
    )


@contextlib.contextmanager
def serving(
    study: Study,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    database: str | None = None,
    origin: str | None = None,
) -> Iterator[str]:
    """The same in a thread, for as long as the block lasts; gives the address."""
    addresses: list[str] = []
    ready = threading.Event()

    def on_ready(url: str) -> None:
        addresses.append(url)
        ready.set()

    with _prepared(study, host, port, database, origin, on_ready) as (server, listening):

        def run() -> None:
            try:
                server.run([listening])
            finally:
                ready.set()

        thread = threading.Thread(target=run, name="study-server", daemon=True)
        thread.start()
        ready.wait()
        try:
            if not addresses:
                raise InputError("the study's server did not start; its log says why")
            yield addresses[0]
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._on_ready()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        uvicorn_log = logging.getLogger("uvicorn.error")
        uvicorn_log.addFilter(self._is_news)
        try:
            super().run(sockets)
        finally:
            uvicorn_log.removeFilter(self._is_news)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but a signal that was obeyed is not raised again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, _frame: FrameType | None) -> None:
            # Who presses Ctrl-C again is in a hurry; SIGTERM often comes twice by itself.
            self.force_exit = self.should_exit and number == signal.SIGINT
            self.should_exit = True

        before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _is_news(self, record: logging.LogRecord) -> bool:
        """Whether a line belongs into the log: who ends the server knows what that breaks off."""
        kind = record.exc_info[0] if record.exc_info else None
        broken_off = kind is not None and issubclass(kind, asyncio.CancelledError)
        told = broken_off or "graceful shutdown exceeded" in str(record.msg)
        return not self.force_exit and not (self.should_exit and told)


@contextlib.contextmanager
def _prepared(
    study: Study,
    host: str,
    port: int,
    database: str | None,
    origin: str | None,
    on_ready: Ready | None,
) -> Iterator[tuple[_Server, socket.socket]]:
    outside = read_origin(origin) if origin else None
    with _listen(host, port) as listening, open_store(study, database) as store:
        store.check_writable()
        app = create_app(study, store, bound=host, origin=outside)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            # Only who says that there is a proxy gets its word for address and scheme.
            proxy_headers=outside is not None,
            forwarded_allow_ips="127.0.0.1,::1",
            timeout_graceful_shutdown=10,
            backlog=512,
        )
        bound_port = listening.getsockname()[1]
        name = _seen_from_elsewhere(host)
        address = f"http://{f'[{name}]' if ':' in name else name}:{bound_port}"
        yield _Server(config, lambda: on_ready and on_ready(address)), listening


def _seen_from_elsewhere(host: str) -> str:
    """What stands in links: "all addresses" is none that a browser could open."""
    if host not in _ELSEWHERE:
        return host
    for family, elsewhere in _ELSEWHERE[host]:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as one:
            one.connect((elsewhere, 9))
            return str(one.getsockname()[0])
    return UNKNOWN


def _listen(host: str, port: int) -> socket.socket:
    try:
        if not 0 <= port <= 65_535:  # else some systems take the remainder
            raise OverflowError("ports are 0 to 65535")
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {host} port {port} ({reason}); "
            "name another --port (0 takes a free one) or --host"
        ) from error
    return listening


def create_app(
    study: Study, store: Store, *, bound: str = "127.0.0.1", origin: str | None = None
) -> FastAPI:
    """`bound` is the address that the server listens on; `origin` what people see of a proxy."""
    check_study(study)
    static_pages.load()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer = Writer(store)
        app.state.service = Service(study, store, writer, Overview(study, store), origin)
        try:
            yield
        finally:
            await run_in_threadpool(writer.close)

    # No pages that describe the interface: they would need a weaker policy, and nobody asks.
    pages: Any = dict.fromkeys(("docs_url", "redoc_url", "openapi_url"))
    app = FastAPI(lifespan=lifespan, telemetry=_NOTHING_LEAVES, **pages)
    app.add_middleware(Guard, cookie=cookie_name(study), bound=bound, origin=origin)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(RequestValidationError, _invalid)
    for part in (annotator_routes, sign_in, admin_routes, static_pages):
        app.include_router(part.router)
    return app


async def _plain(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    words = {404: "There is no such page.", 405: "That cannot be done here."}
    text = words.get(error.status_code, "This request was not understood.")
    return JSONResponse({"problem": text}, error.status_code, headers=error.headers)


async def _invalid(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"problem": "This request was not understood."}, 422)
