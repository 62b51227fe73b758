"""A real HTTP server on this machine that answers each request as a function says, and keeps what arrived.

The servers of the formats (``responses_server``, ``anthropic_server``, ``gemini_server``) say what an answer
looks like in their format; a turn is a text, a list of tool calls (name and arguments), or a dictionary that
is laid over the answer as it goes out, so that a test can end it as it likes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

from attrs import Factory, frozen


@frozen(eq=False)
class Request:
    """One request as it arrived: path with query, headers with names in lower case, body."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    json: dict[str, Any] = Factory(lambda self: json.loads(self.body), takes_self=True)


class WireServer:
    """The server of one format; it listens as long as its ``with`` block runs.

    Args:
        turns: the script, played in order; the last turn is repeated. A function is called with the request.
    """

    #: Where requests have to go; others get status 404.
    path: ClassVar[str] = ""

    def __init__(self, turns: Iterable[Any]) -> None:
        self.requests: list[Request] = []
        self._turns = [turns] if isinstance(turns, str) else list(turns)
        self._lock = threading.Lock()
        self._calls = 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def body(self, turn: Any, request: Request) -> dict[str, Any]:
        """The answer to a request, in the format of the server."""
        raise NotImplementedError

    def call_id(self) -> str:
        """A new id for a tool call."""
        self._calls += 1
        return f"call_{self._calls}"

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        """Status and body for a request."""
        with self._lock:
            turn: Any = self._turns[min(len(self.requests), len(self._turns) - 1)]
            self.requests.append(request)
            if self.path not in request.path:
                return 404, {"error": {"message": f"this server has no {request.path}", "type": "scripted"}}
            if isinstance(turn, Callable):
                turn = turn(request)
            if isinstance(turn, Mapping):
                return 200, {**self.body("", request), **turn}
            return 200, self.body(turn, request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answer = self.server.script.answer(Request(self.path, headers, body))
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (("content-type", "application/json"), ("content-length", str(len(data)))):
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing: a test's output is its own."""
