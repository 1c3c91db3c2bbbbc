"""The FastAPI application: its routes and middleware."""

from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from drag_graph.app.application import DragGraph
from drag_graph.service import (
    asking_routes,
    job_page_routes,
    job_routes,
    mcp_routes,
    monitoring_routes,
    openai_routes,
    page_routes,
    site_routes,
    source_page_routes,
)
from drag_graph.service.access import ServiceAccess
from drag_graph.service.ask_queue import AskQueue
from drag_graph.service.errors import SITE_PATHS, add_error_handlers
from drag_graph.service.jobs import JobQueue
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.middleware import RequestLimits, RequestLog
from drag_graph.service.page_routes import error_page
from drag_graph.service.service_state import Metrics, ServiceState
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.version import __version__

NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
METHODS = ("GET", "POST", "DELETE")
CORS_HEADERS = ("authorization", "content-type", "x-namespace")
EXPOSED = ("x-request-id", "x-total-count", "x-answer-id")
"""Headers of requests and replies that pages of other origins can use."""
UPLOADS = ("/api/v1/jobs/ingest", "/sources/add", "/distill", *SITE_PATHS)
"""Paths with bodies of up to `Limits.upload_bytes`. Those of sites have smaller limits of their own."""
ROUTES = (monitoring_routes, asking_routes, openai_routes, job_routes, mcp_routes)
PAGES = (page_routes, source_page_routes, job_page_routes)


def service_app(
    graph: DragGraph, limits: Limits, ring: KeyRing, *, local_token: str = "", cloud: Cloud | None = None
) -> FastAPI:
    """Return the service over `graph`, with the routes for the sites of `cloud`. With a cloud, all other callers need keys.

    `local_token` counts as an administrator's key. The caller closes `app.state.service.asks` and `app.state.access`, and
    enters `app.state.jobs` before the first request.
    """
    pages: Any = {"docs_url": None, "redoc_url": None}  # their scripts come from other servers
    app = FastAPI(title="drag-graph", version=__version__, telemetry=NO_TELEMETRY, **pages)
    state = ServiceState(graph, limits, Metrics(), AskQueue(limits), local_token)
    app.state.service = state
    app.state.access = ServiceAccess(graph, ring, local_token, needs_key=cloud is not None)
    app.state.jobs = JobQueue(graph.settings.service_records_path, app.state.access, ring, most=limits.jobs)
    add_error_handlers(app, error_page)
    for routes in (*ROUTES, *PAGES):
        app.include_router(routes.router)
    if cloud:
        app.state.cloud = cloud
        app.include_router(site_routes.router)
    if limits.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=limits.origins,
            allow_methods=METHODS,
            allow_headers=CORS_HEADERS,
            expose_headers=EXPOSED,
        )
    app.add_middleware(RequestLimits, limits=limits, uploads=UPLOADS)
    app.add_middleware(RequestLog, metrics=state.metrics)  # the outermost
    return app
