"""What happens in a run, read from the graph's stream as plain events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

MAIN = "main"
_RESULT_LENGTH = 400

#: Where an item comes from: empty for the main agent, one element more for each agent below.
Namespace: TypeAlias = tuple[str, ...]


@frozen
class Event:
    """One thing that happened.

    Attributes:
        kind: ``text`` (a piece of an answer), ``tool_call``, ``tool_result``, ``answer`` (a whole message
            of a sub-agent) or ``approval`` (a call that waits for somebody).
        agent: who: ``main``, or the name of a sub-agent, numbered from the second one of that name on.
        depth: 0 for the main agent, 1 for its sub-agents, and so on.
        data: the rest, as plain data.
    """

    kind: str
    agent: str
    depth: int = 0
    data: Mapping[str, Any] = field(factory=dict)


class EventReader:
    """Turns the items of a graph's stream into events.

    Made for ``stream_mode=["updates", "messages"], subgraphs=True``.

    Attributes:
        waiting: what the run waits for, when it stopped for an approval.
        tokens: sums of what the models reported, by kind; empty if none did.
        steps: how often a model has answered.
    """

    def __init__(self) -> None:
        self._answer = ""
        self.waiting: list[dict[str, Any]] = []
        self.tokens: dict[str, int] = {}
        self.steps = 0
        # Pieces of the answer that is coming, joined only when somebody asks: an answer may be long.
        self._coming: list[str] = []
        self._names: dict[Namespace, str] = {(): MAIN}
        self._namesakes: dict[str, int] = {}
        self._seen: set[str] = set()

    @property
    def answer(self) -> str:
        """Text of the main agent's last message that has one, or the part of it that has come so far."""
        return "".join(self._coming) or self._answer

    def read(self, item: tuple[Namespace, str, Any]) -> Iterator[Event]:
        """The events that one item of the stream stands for."""
        namespace, mode, data = item
        if mode == "messages":
            yield from self._chunk(namespace, *data)
            return
        for node, update in data.items():
            if node == "__interrupt__":
                yield from self._interrupts(namespace, update)
            else:
                yield from self._update(namespace, update)

    def _chunk(self, namespace: Namespace, message: Any, metadata: Mapping[str, Any]) -> Iterator[Event]:
        name = metadata.get("lc_agent_name")
        if namespace and name and namespace not in self._names:
            self._names[namespace] = self._numbered(str(name))
        # Models that middleware calls on the side (a summary, a grade) mark their runs, or are other nodes.
        if metadata.get("langgraph_node") != "model" or metadata.get("lc_source"):
            return
        if message.type in ("ai", "AIMessageChunk") and message.text:
            if not namespace:
                self._coming.append(str(message.text))
            yield self._event("text", namespace, text=str(message.text))

    def _update(self, namespace: Namespace, update: Any) -> Iterator[Event]:
        messages = update.get("messages") if isinstance(update, Mapping) else None
        # Middleware may wrap the list to say that it replaces the history: nothing in it is new.
        for message in messages if isinstance(messages, list) else ():
            kind = getattr(message, "type", "")
            if kind not in ("ai", "tool") or not self._is_new(message.id):
                continue
            yield from self._ai(namespace, message) if kind == "ai" else self._tool(namespace, message)

    def _ai(self, namespace: Namespace, message: Any) -> Iterator[Event]:
        self.steps += 1
        for key, value in (message.usage_metadata or {}).items():
            if isinstance(value, int):
                self.tokens[key] = self.tokens.get(key, 0) + value
        text = str(message.text)
        if not namespace:
            self._coming.clear()
            self._answer = text or self._answer
        for call in message.tool_calls:
            yield self._event("tool_call", namespace, id=call["id"], name=call["name"], args=call["args"])
        if text and namespace and not message.tool_calls:
            yield self._event("answer", namespace, text=text)

    def _tool(self, namespace: Namespace, message: Any) -> Iterator[Event]:
        text = str(message.text)
        yield self._event(
            "tool_result",
            namespace,
            id=message.tool_call_id,
            name=message.name or "",
            status=message.status,
            text=text if len(text) <= _RESULT_LENGTH else f"{text[:_RESULT_LENGTH]}...",
            characters=len(text),
        )

    def _interrupts(self, namespace: Namespace, interrupts: Any) -> Iterator[Event]:
        # An interrupt of a child travels up: it is seen once in each namespace and counts once.
        for interrupt in interrupts:
            if not self._is_new(interrupt.id):
                continue
            value = interrupt.value
            requests = value.get("action_requests", [value]) if isinstance(value, Mapping) else [value]
            for request in requests:
                known = request if isinstance(request, Mapping) else {"description": str(request)}
                waiting = {key: known[key] for key in ("name", "args", "description") if key in known}
                self.waiting.append(waiting)
                yield self._event("approval", namespace, **waiting)

    def _numbered(self, name: str) -> str:
        """*name*, with a number if another agent of that name is there: two may work side by side."""
        self._namesakes[name] = number = self._namesakes.get(name, 0) + 1
        return name if number == 1 else f"{name} #{number}"

    def _is_new(self, identifier: str | None) -> bool:
        if identifier is None:
            return True
        if identifier in self._seen:
            return False
        self._seen.add(identifier)
        return True

    def _event(self, kind: str, namespace: Namespace, **data: Any) -> Event:
        name = self._names.get(namespace) or namespace[-1].partition(":")[0]
        return Event(kind, name, len(namespace), data)
