"""A real HTTP server on this machine that speaks OpenAI's chat completions and answers from a script.

What a model is really sent is what arrives here: a client in this process or in another one talks to it over
a socket, as it would to the provider. JSON and streamed answers, tool calls, usage, errors.

    with OpenAIServer([[("ls", {"path": "/"})], "done"]) as server:
        agent = create_deep_agent(ChatOpenAI(model="gpt-x", base_url=server.base_url, api_key="x"))
        agent.invoke({"messages": "look around"})
        assert [tool["function"]["name"] for tool in server.requests[0].json["tools"]][0] == "ls"

A turn is a text, a list of tool calls (name and arguments), an :class:`HttpError`, or a function of the
:class:`Request` that gives one of these: what agents that run side by side need.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

from attrs import Factory, frozen


@frozen
class HttpError:
    """A turn that fails.

    Attributes:
        status: the HTTP status.
        message: what the body says.
        retry: whether a client may try again, as far as it asks.
    """

    status: int
    message: str = "the script says so"
    retry: bool = False


@frozen(eq=False)
class Request:
    """One request as it arrived.

    Attributes:
        path: below the host, as in ``/v1/chat/completions``.
        headers: names in lower case.
        body: the bytes.
        json: the same, parsed.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    json: dict[str, Any] = Factory(lambda self: json.loads(self.body), takes_self=True)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        found: list[dict[str, Any]] = self.json["messages"]
        return found

    @property
    def roles(self) -> list[str]:
        """Who says each message."""
        return [message["role"] for message in self.messages]

    @property
    def system(self) -> list[Any]:
        """Contents of the system messages."""
        return [message["content"] for message in self.messages if message["role"] == "system"]

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """Name to description and parameters of the tools, in order."""
        return {tool["function"]["name"]: tool["function"] for tool in self.json.get("tools", [])}


Call: TypeAlias = tuple[str, Mapping[str, Any]]
Turn: TypeAlias = str | Sequence[Call] | HttpError | Callable[[Request], Any]


class OpenAIServer:
    """The server; it listens as long as its ``with`` block runs.

    Args:
        turns: the script, played in order, whoever asks.
        repeat_last: go on with the last turn when the script is over; without it, status 400.
        record: keep every request; switch it off for long runs.

    Attributes:
        requests: what arrived so far.
    """

    def __init__(self, turns: Iterable[Turn], *, repeat_last: bool = False, record: bool = True) -> None:
        self.requests: list[Request] = []
        self._turns = [turns] if isinstance(turns, str) else list(turns)
        self._repeat_last = repeat_last
        self._record = record
        self._played = itertools.count()
        self._calls = itertools.count(1)
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        """What a client takes as ``base_url``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, request: Request) -> HttpError | dict[str, Any]:
        """The assistant message of the next turn, or the error that it is."""
        with self._lock:
            if self._record:
                self.requests.append(request)
            position = next(self._played)
        if request.path != "/v1/chat/completions":
            return HttpError(404, f"this server has no {request.path}")
        if position >= len(self._turns) and not (self._repeat_last and self._turns):
            return HttpError(
                400, f"the script has {len(self._turns)} turns and this is request {position + 1}"
            )
        turn: Any = self._turns[min(position, len(self._turns) - 1)]
        while callable(turn):
            turn = turn(request)
        if isinstance(turn, HttpError):
            return turn
        if isinstance(turn, str):
            return {"role": "assistant", "content": turn}
        return {"role": "assistant", "content": None, "tool_calls": [self._call(*call) for call in turn]}

    def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": f"call_{next(self._calls)}", "type": "function", "function": function}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: OpenAIServer

    def __init__(self, *args: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*args)

    def close_connections(self) -> None:
        """End the connections that clients keep open for a next request."""
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # many small writes: without it each would wait for an acknowledgement
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body)
        answer = self.server.script.answer(request)
        if isinstance(answer, HttpError):
            self._error(answer)
        elif request.json.get("stream"):
            self._stream(request.json, answer)
        else:
            self._json(200, _completion(request.json, answer))

    def _error(self, error: HttpError) -> None:
        body = {"error": {"message": error.message, "type": "scripted", "param": None, "code": None}}
        self._json(error.status, body, ("x-should-retry", str(error.retry).lower()))

    def _json(self, status: int, value: Any, *headers: tuple[str, str]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (("content-type", "application/json"), *headers):
            self.send_header(name, text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in (*map(json.dumps, _chunks(asked, answer)), "[DONE]"):
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Nothing: a test's output is its own."""


def _head(asked: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": asked["model"]}


def _usage(asked: Mapping[str, Any]) -> dict[str, int]:
    given = 10 * len(asked["messages"])
    return {"prompt_tokens": given, "completion_tokens": 5, "total_tokens": given + 5}


def _reason(answer: Mapping[str, Any]) -> str:
    return "tool_calls" if answer.get("tool_calls") else "stop"


def _completion(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": answer, "finish_reason": _reason(answer)}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _usage(asked)}


def _chunks(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head = _head(asked, "chat.completion.chunk")
    for delta in _deltas(answer):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(answer)}]}
    if (asked.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(asked)}


def _deltas(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if answer["content"] else None}
    yield from ({"content": part} for part in _halves(answer["content"] or ""))
    for index, call in enumerate(answer.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opening = {"id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [{"index": index, **opening}]}
        for part in _halves(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
