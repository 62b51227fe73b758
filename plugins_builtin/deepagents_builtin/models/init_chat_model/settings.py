"""Settings of the ``model.init-chat-model`` plugin."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen


@frozen
class InitChatModelSettings:
    """How models are built from strings, for all of them.

    Attributes:
        base_url: where the provider's API is; ``None`` leaves it to the provider.
        options: further keyword arguments of the model, such as ``{"max_retries": 0}``. They stand above
            what provider profiles say.
    """

    base_url: str | None = None
    options: dict[str, Any] = field(factory=dict)

    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments that the settings stand for."""
        url = {} if self.base_url is None else {"base_url": self.base_url}
        return {**self.options, **url}
