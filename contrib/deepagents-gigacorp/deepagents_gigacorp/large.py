"""How agents run on ``gigacorp:large``: it can be trusted to search, and writes down what it read."""

from typing import Any

from deepagents_kernel import HarnessProfile


def _middleware() -> list[Any]:
    from deepagents_gigacorp.receipts import ReceiptsMiddleware

    return [ReceiptsMiddleware()]


PROFILE = HarnessProfile(
    system_prompt_suffix="Answer in short sentences, and name the files that you have read.",
    tool_description_overrides={"grep": "Search all files for a text. Use it before you read whole files."},
    restored_tools={"grep"},
    extra_middleware=_middleware,
)
