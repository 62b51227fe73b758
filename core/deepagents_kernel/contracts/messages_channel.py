"""The channel that holds ``messages``: a delta channel that every form of message enters with an id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import langgraph.graph.message
from langgraph.channels.delta import DeltaChannel

from deepagents_kernel.contracts.messages import messages_reducer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: A full copy of the conversation is stored every so many updates; other checkpoints store what was written.
SNAPSHOT_FREQUENCY = 50

# LangGraph gives ids to writes before it stores them, but it knows strings and (role, text) pairs for
# messages only in a channel that has *its own* reducer. In any other they are stored raw: the message has
# no id, and a single pair, which comes back from the checkpoint as a list, is replayed as two messages.
_known_to_host: Callable[..., Any] = getattr(
    langgraph.graph.message, "_messages_delta_reducer", messages_reducer
)


class MessagesChannel(DeltaChannel[Any]):
    """A ``DeltaChannel`` over :func:`messages_reducer`.

    Stored form and behaviour are those of ``DeltaChannel(messages_reducer, snapshot_frequency=...)``, and it
    compares equal to one, but the host recognises it as a channel of messages: strings, pairs and dicts are
    stored as messages with an id, too. ``reducer`` shows what the host looks for; what is applied is ours.
    """

    __slots__ = ()

    def __init__(
        self,
        reducer: Callable[..., Any] = messages_reducer,
        typ: type[Any] | None = None,
        *,
        snapshot_frequency: int = SNAPSHOT_FREQUENCY,
    ) -> None:
        """Make an empty channel.

        Args:
            reducer: there because the host rebuilds channels from their parts; no other reducer is taken.
            typ: type of the value; the host fills it in from the annotation.
            snapshot_frequency: store a full copy every so many updates.

        Raises:
            TypeError: another reducer was given; that needs a plain ``DeltaChannel``.
        """
        if reducer is not messages_reducer and reducer is not _known_to_host:
            raise TypeError(f"MessagesChannel has a reducer of its own; for {reducer!r} use DeltaChannel")
        super().__init__(_known_to_host, typ, snapshot_frequency=snapshot_frequency)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeltaChannel) and other.reducer is messages_reducer:
            return self.snapshot_frequency == other.snapshot_frequency
        return isinstance(other, MessagesChannel) and super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # what defining __eq__ implies; the host's channels have none either

    def update(self, values: Sequence[Any]) -> bool:
        """Apply the writes of a step."""
        channel = self._applying()
        changed = channel.update(values)
        self.value = channel.value
        return changed

    def replay_writes(self, writes: Sequence[Any]) -> None:
        """Apply stored writes to the value of an earlier checkpoint."""
        channel = self._applying()
        channel.replay_writes(writes)
        self.value = channel.value

    def _applying(self) -> DeltaChannel[Any]:
        channel: DeltaChannel[Any] = DeltaChannel(
            messages_reducer, self.typ, snapshot_frequency=self.snapshot_frequency
        )
        channel.key = self.key
        channel.value = self.value
        return channel
