"""A middleware that counts the answers of the model, for the stack that it is in."""

from typing import Any

from langchain.agents.middleware import AgentMiddleware


class ReceiptsMiddleware(AgentMiddleware[Any, Any, Any]):
    def __init__(self) -> None:
        super().__init__()
        self.answers = 0

    def after_model(self, state: Any, runtime: Any) -> None:
        self.answers += 1
