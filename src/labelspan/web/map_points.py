"""The points of the map, as bytes: all of them, or some while it is drawn."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse

from ..display.map_data import MapPoints
from .requests import Refused
from .snapshot import Served, Snapshot

__all__ = ["BYTES", "POINTS", "SKETCH", "points", "send_points", "send_sketch", "sketch"]

POINTS, SKETCH = "/map/points.bin", "/map/sketch.bin"
BYTES = "application/octet-stream"


def sketch(snapshot: Snapshot) -> bytes:
    """Return places of points while the map is drawn: x and y in turn, as in its positions."""
    return snapshot.map_sketch if snapshot.map_state == "drawing" else b""


async def send_sketch(served: Served, request: Request) -> Response:
    """Answer with what :func:`sketch` returns."""
    with served.held() as snapshot:
        data = sketch(snapshot)
    return Response(data, headers={"cache-control": "no-store"}, media_type=BYTES)


def points(snapshot: Snapshot) -> MapPoints:
    """Return the points of the map with what is known of each; refused until it is drawn."""
    drawn = snapshot.current_map()
    if drawn is None and snapshot.map_state == "failed":
        raise Refused(500, "The map could not be drawn; see the output of the server.")
    if drawn is None:
        raise Refused(503, "The map is being drawn; try again.", {"retry-after": "2"})
    return drawn


async def send_points(served: Served, request: Request) -> Response:
    """Answer with what :func:`points` returns, unless the client has it."""

    def current() -> MapPoints:
        with served.lease() as snapshot:
            return points(snapshot)

    drawn = await run_in_threadpool(current)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    response = Response(
        drawn.packed if packed else drawn.points,
        headers={"etag": drawn.etag, "vary": "accept-encoding"},
        media_type=BYTES,
    )
    if drawn.etag in request.headers.get("if-none-match", ""):
        return NotModifiedResponse(response.headers)
    if packed:
        response.headers["content-encoding"] = "gzip"
    return response
