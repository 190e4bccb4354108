"""The application: routes, and the guard before all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from medebench.study.design import Study
from medebench.study.server import admin_routes, annotator_routes, sign_in, static_pages
from medebench.study.server.admin_overview import Overview
from medebench.study.server.answer_store import Store
from medebench.study.server.image_routes import check_study
from medebench.study.server.security import Guard
from medebench.study.server.service import Service, cookie_name
from medebench.study.server.writer import Writer

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

#: Newer versions of FastAPI tell others what happens here if the environment asks for it.
_NOTHING_LEAVES: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


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
    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=_NOTHING_LEAVES,
    )
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
