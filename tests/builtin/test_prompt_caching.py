"""Stand-ins for the providers' prompt caching: lazy, exact, and honest about broken packages."""

from __future__ import annotations

import contextlib
import importlib
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import ModelRequest, omit_payload
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

import deepagents_builtin.middleware.prompt_caching_anthropic.plugin as anthropic_plugin
import deepagents_builtin.middleware.prompt_caching_bedrock.plugin as bedrock_plugin
import deepagents_builtin.middleware.prompt_caching_fireworks.plugin as fireworks_plugin
from deepagents_builtin import BUILTIN
from deepagents_builtin.middleware._caching.provider import forget
from deepagents_builtin.middleware.prompt_caching_anthropic.middleware import AnthropicPromptCachingMiddleware
from deepagents_builtin.middleware.prompt_caching_bedrock.middleware import BedrockPromptCachingMiddleware
from deepagents_builtin.middleware.prompt_caching_fireworks.middleware import FireworksPromptCachingMiddleware
from deepagents_kernel.assembly.specs import Segment

EPHEMERAL = {"type": "ephemeral", "ttl": "5m"}
OTHERS = [
    pytest.param("langchain_aws", bedrock_plugin, BedrockPromptCachingMiddleware, id="bedrock"),
    pytest.param("langchain_fireworks", fireworks_plugin, FireworksPromptCachingMiddleware, id="fireworks"),
]
BOTH = pytest.mark.parametrize(("package", "plugin", "standin"), OTHERS)

REAL = """
from langchain.agents.middleware.types import AgentMiddleware
MADE = []
class {cls}(AgentMiddleware):
    def __init__(self, unsupported_model_behavior="warn"):
        self.behaviour = unsupported_model_behavior
        MADE.append(self)
    def wrap_model_call(self, request, handler):
        return handler(request.override(model_settings={{"cached": True}}))
    async def awrap_model_call(self, request, handler):
        return await handler(request.override(model_settings={{"cached": True}}))
"""


@tool
def look() -> str:
    """Look."""
    return "seen"


@tool
def other() -> str:
    """Something else."""
    return "done"


def fake_model(*replies: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in replies]))


def chat_anthropic() -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="claude-sonnet-4-5", api_key="x")


def my_claude() -> Any:
    """A model of a class that an application derived; its module is not the provider's."""
    from langchain_anthropic import ChatAnthropic

    class MyClaude(ChatAnthropic):
        pass

    return MyClaude(model="claude-sonnet-4-5", api_key="x")


def request_for(model: Any, **fields: Any) -> ModelRequest[Any]:
    return ModelRequest(model=model, messages=[HumanMessage("hi")], **fields)


def through(middleware: Any, request: Any) -> Any:
    """What the innermost handler gets."""
    seen: list[Any] = []
    middleware.wrap_model_call(request, seen.append)
    return seen[0]


async def athrough(middleware: Any, request: Any) -> Any:
    seen: list[Any] = []

    async def handler(given: Any) -> None:
        seen.append(given)

    await middleware.awrap_model_call(request, handler)
    return seen[0]


def made_for(spec: Any, model: Any) -> Any:
    return spec.factory(SimpleNamespace(model=model))


class Provider:
    """A provider package written to disk, importable for one test."""

    def __init__(self, root: Path, package: str, cls: str) -> None:
        self.package, self.cls = package, cls
        self.folder = root / package
        self.write("__init__.py", "")
        self.write("chat_models.py", "class Chat: pass\nclass Derived(Chat): pass\n")

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        importlib.invalidate_caches()

    def caching(self, text: str | None = None) -> None:
        self.write("middleware/__init__.py", "")
        self.write("middleware/prompt_caching.py", REAL.format(cls=self.cls) if text is None else text)

    def model(self) -> Any:
        return importlib.import_module(f"{self.package}.chat_models").Chat()

    def derived(self) -> Any:
        """A model of a class that an application derived; its module is not the provider's."""
        return type("MyChat", (type(self.model()),), {"__module__": __name__})()

    @property
    def module(self) -> Any:
        return sys.modules[f"{self.package}.middleware.prompt_caching"]

    @property
    def loaded(self) -> list[str]:
        return [name for name in sys.modules if name.split(".")[0] == self.package]


@pytest.fixture
def remembering_nothing() -> Iterator[None]:
    """Nothing that was found or imported before is known, and nothing of this test afterwards."""
    forget()
    yield
    forget()


@pytest.fixture
def provide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Provider]]:
    packages: list[str] = []
    kept: dict[str, Any] = {}
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()

    def unload() -> dict[str, Any]:
        names = [name for name in sys.modules if name.split(".")[0] in packages]
        return {name: sys.modules.pop(name) for name in names}

    def write(package: str, cls: str) -> Provider:
        packages.append(package)
        kept.update(unload())
        return Provider(tmp_path, package, cls)

    yield write
    unload()
    sys.modules.update(kept)
    forget()


# -- all three -------------------------------------------------------------------------------------


@pytest.mark.spec("PC-001")
def test_the_three_follow_each_other_in_the_tail():
    names = [name for name in BUILTIN.plugins if "prompt-caching" in name]
    assert [name.rpartition("-")[2] for name in names] == ["anthropic", "bedrock", "fireworks"]
    specs = [
        module.deepagents_middleware() for module in (anthropic_plugin, bedrock_plugin, fireworks_plugin)
    ]
    assert {spec.segment for spec in specs} == {Segment.TAIL}


@pytest.mark.spec("PC-002", "ASM-102")
@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (AnthropicPromptCachingMiddleware, "AnthropicPromptCachingMiddleware"),
        (BedrockPromptCachingMiddleware, "BedrockPromptCachingMiddleware"),
        (FireworksPromptCachingMiddleware, "FireworksPromptCachingMiddleware"),
    ],
)
def test_names_are_the_providers_and_traces_omit_the_conversation(cls: Any, name: str):
    assert cls().name == name
    assert cls().trace_policy.process_inputs is omit_payload


@pytest.mark.spec("PC-002", "ASM-100")
def test_other_models_load_no_provider_package():
    script = """
import sys
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from types import SimpleNamespace
from deepagents_builtin.middleware.prompt_caching_anthropic import plugin as a
from deepagents_builtin.middleware.prompt_caching_bedrock import plugin as b
from deepagents_builtin.middleware.prompt_caching_fireworks import plugin as f
model = GenericFakeChatModel(messages=iter([AIMessage("done")]))
stack = [p.deepagents_middleware().factory(SimpleNamespace(model=model)) for p in (a, b, f)]
create_agent(model, middleware=stack).invoke({"messages": [("user", "hi")]})
wanted = ("langchain_anthropic", "anthropic", "langchain_aws", "boto3", "langchain_fireworks", "fireworks")
print([name for name in wanted if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.stdout.strip() == "[]", done.stderr


# -- Anthropic -------------------------------------------------------------------------------------


@pytest.mark.spec("PC-001")
def test_anthropic_always_has_its_slot():
    spec = anthropic_plugin.deepagents_middleware()
    assert not spec.vacant
    assert type(made_for(spec, fake_model())) is spec.cls


@pytest.mark.spec("PC-004")
@pytest.mark.parametrize("plugin", [anthropic_plugin, bedrock_plugin, fireworks_plugin])
def test_each_slot_names_the_class_it_stands_in_for(plugin: Any):
    spec = plugin.deepagents_middleware()
    (alias,) = spec.aliases
    module, _, name = alias.partition(":")
    assert name == spec.name
    if plugin is anthropic_plugin:
        real = getattr(importlib.import_module(module), name)
        assert f"{real.__module__}:{real.__qualname__}" == alias


@pytest.mark.spec("PC-003", "ASM-101")
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_claude_request_is_marked_for_caching(asynchronous: bool):
    system = SystemMessage([{"type": "text", "text": "stable"}, {"type": "text", "text": "last"}])
    request = request_for(
        chat_anthropic(), system_message=system, tools=[look, other], model_settings={"k": 1}
    )
    middleware = AnthropicPromptCachingMiddleware()

    seen = await athrough(middleware, request) if asynchronous else through(middleware, request)

    assert [block.get("cache_control") for block in seen.system_message.content] == [None, EPHEMERAL]
    assert seen.tools[0] is look
    assert seen.tools[1].extras == {"cache_control": EPHEMERAL}
    assert other.extras is None
    assert seen.model_settings == {"k": 1, "cache_control": EPHEMERAL}


@pytest.mark.spec("PC-003", "ASM-101")
def test_the_real_middleware_is_made_once_and_ignores_other_models(monkeypatch: pytest.MonkeyPatch):
    from langchain_anthropic.middleware import prompt_caching

    real, made = prompt_caching.AnthropicPromptCachingMiddleware, []
    meeting = threading.Barrier(2)

    class Counting(real):
        def __init__(self, **kwargs: Any) -> None:
            made.append(kwargs)
            with contextlib.suppress(threading.BrokenBarrierError):
                meeting.wait(timeout=0.3)  # a second one at work would come here too, and be counted
            super().__init__(**kwargs)

    forget()
    monkeypatch.setattr(prompt_caching, "AnthropicPromptCachingMiddleware", Counting)
    middleware, model = AnthropicPromptCachingMiddleware(), chat_anthropic()
    barrier = threading.Barrier(8)

    def call() -> None:
        barrier.wait()
        through(middleware, request_for(model))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    middleware.prepare()
    forget()

    assert made == [{"unsupported_model_behavior": "ignore"}]


@pytest.mark.spec("PC-003")
def test_a_session_that_switches_to_claude_is_cached_from_then_on():
    middleware = made_for(anthropic_plugin.deepagents_middleware(), fake_model())
    first = request_for(fake_model())
    assert through(middleware, first) is first
    assert through(middleware, request_for(chat_anthropic())).model_settings == {"cache_control": EPHEMERAL}


@pytest.mark.spec("PC-003")
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_class_that_derives_from_claude_is_cached_too(asynchronous: bool):
    middleware, request = AnthropicPromptCachingMiddleware(), request_for(my_claude(), tools=[look])
    seen = await athrough(middleware, request) if asynchronous else through(middleware, request)
    assert seen.model_settings == {"cache_control": EPHEMERAL}
    assert seen.tools[0].extras == {"cache_control": EPHEMERAL}


@pytest.mark.spec("PC-008")
@pytest.mark.parametrize("model", [chat_anthropic, my_claude])
def test_the_real_middleware_is_made_with_an_agent_on_claude_or_a_class_derived_from_it(
    model: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, remembering_nothing: None
):
    from langchain_anthropic.middleware import prompt_caching

    class Broken(prompt_caching.AnthropicPromptCachingMiddleware):
        def __init__(self, **_: Any) -> None:
            raise RuntimeError("broken")

    monkeypatch.setattr(prompt_caching, "AnthropicPromptCachingMiddleware", Broken)
    spec = anthropic_plugin.deepagents_middleware()
    made_for(spec, fake_model())
    with pytest.raises(RuntimeError, match="broken"):
        made_for(spec, model())


@pytest.mark.spec("PC-005", "ASM-101")
async def test_other_and_bound_models_pass_through_untouched():
    middleware = AnthropicPromptCachingMiddleware()
    for model in (fake_model(), chat_anthropic().bind(stop=["x"])):
        request = request_for(model)
        assert through(middleware, request) is request
        assert await athrough(middleware, request) is request


@pytest.mark.spec("ASM-102")
async def test_an_agent_runs_with_it_either_way():
    middleware = AnthropicPromptCachingMiddleware()
    agent = create_agent(fake_model("one", "two"), middleware=[middleware])
    value: Any = {"messages": [HumanMessage("hi")]}
    assert agent.invoke(value)["messages"][-1].text == "one"
    assert (await agent.ainvoke(value))["messages"][-1].text == "two"


# -- Bedrock and Fireworks -------------------------------------------------------------------------


@pytest.mark.spec("PC-001", "PC-007", "ASM-103")
@BOTH
def test_the_slot_is_vacant_unless_the_module_is_on_disk(
    provide: Any, package: str, plugin: Any, standin: Any
):
    assert plugin.deepagents_middleware().vacant

    provider = provide(package, standin.__name__)
    forget()
    assert plugin.deepagents_middleware().vacant, "a package without a middleware folder"
    provider.write("middleware/__init__.py", "")
    forget()
    assert plugin.deepagents_middleware().vacant, "a middleware folder without the module"
    provider.caching()
    forget()
    assert not plugin.deepagents_middleware().vacant
    assert provider.loaded == [], "looking imports nothing"


@pytest.mark.spec("ASM-105", "PC-009")
@BOTH
def test_stacks_after_the_first_neither_search_nor_import(
    provide: Any, package: str, plugin: Any, standin: Any, monkeypatch: pytest.MonkeyPatch
):
    provider = provide(package, standin.__name__)
    provider.caching()
    made_for(plugin.deepagents_middleware(), provider.model())

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(importlib, "import_module", refuse)
    monkeypatch.setattr(importlib.util, "find_spec", refuse)
    for _ in range(3):
        assert not plugin.deepagents_middleware().vacant
        model = sys.modules[f"{package}.chat_models"].Chat()
        assert through(made_for(plugin.deepagents_middleware(), model), request_for(model)).model_settings


@pytest.mark.spec("PC-006", "ASM-103", "PC-009")
@BOTH
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_requests_of_the_provider_go_to_its_middleware(
    provide: Any, package: str, plugin: Any, standin: Any, asynchronous: bool
):
    provider = provide(package, standin.__name__)
    provider.caching()
    spec = plugin.deepagents_middleware()
    middleware = made_for(spec, fake_model())
    foreign = request_for(fake_model())
    assert through(middleware, foreign) is foreign
    assert provider.loaded == [], "another model imports nothing"

    models = [provider.model(), sys.modules[f"{package}.chat_models"].Derived(), provider.derived()]
    for model in models:
        request = request_for(model)
        seen = await athrough(middleware, request) if asynchronous else through(middleware, request)
        assert seen.model_settings == {"cached": True}
    assert [item.behaviour for item in provider.module.MADE] == ["ignore"]
    assert (spec.name, spec.cls) == (standin.__name__, standin)


@pytest.mark.spec("PC-007")
@BOTH
def test_a_package_without_caching_is_no_error_for_its_models(
    provide: Any, package: str, plugin: Any, standin: Any
):
    model = provide(package, standin.__name__).model()
    middleware = made_for(plugin.deepagents_middleware(), model)
    request = request_for(model)
    assert through(middleware, request) is request


@pytest.mark.spec("PC-008")
@BOTH
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_sdk", ModuleNotFoundError),
        ("raise ImportError('no name')", ImportError),
        ("raise RuntimeError('broken')", RuntimeError),
    ],
)
def test_a_broken_package_shows_when_an_agent_on_its_model_is_built(
    provide: Any, package: str, plugin: Any, standin: Any, text: str, error: type[Exception]
):
    provider = provide(package, standin.__name__)
    provider.caching(text)
    spec = plugin.deepagents_middleware()
    assert not spec.vacant
    for _ in range(2):
        with pytest.raises(error):
            made_for(spec, provider.model())
    with pytest.raises(error):
        made_for(spec, provider.derived())
    made_for(spec, fake_model())


@pytest.mark.spec("PC-008")
@BOTH
def test_a_package_that_proves_broken_during_a_run_costs_the_cache_and_not_the_run(
    provide: Any, package: str, plugin: Any, standin: Any, caplog: pytest.LogCaptureFixture
):
    provider = provide(package, standin.__name__)
    provider.caching("raise RuntimeError('broken')")
    middleware = made_for(plugin.deepagents_middleware(), fake_model())
    request = request_for(provider.model())

    with caplog.at_level(logging.WARNING, logger="deepagents_builtin"):
        assert through(middleware, request) is request
        assert through(middleware, request) is request

    assert [record.event for record in caplog.records] == ["prompt_caching_unavailable"]


@pytest.mark.spec("ASM-104")
@BOTH
def test_a_package_too_old_to_have_the_class_goes_without_caching(
    provide: Any, package: str, plugin: Any, standin: Any, caplog: pytest.LogCaptureFixture
):
    provider = provide(package, standin.__name__)
    provider.caching("")
    model = provider.model()

    with caplog.at_level(logging.INFO, logger="deepagents_builtin"):
        middleware = made_for(plugin.deepagents_middleware(), model)
        made_for(plugin.deepagents_middleware(), model)

    request = request_for(model)
    assert through(middleware, request) is request
    assert [record.event for record in caplog.records] == ["prompt_caching_class_missing"]


@pytest.mark.spec("ASM-104")
@BOTH
def test_a_class_too_old_for_the_option_is_used_with_a_note(
    provide: Any, package: str, plugin: Any, standin: Any, caplog: pytest.LogCaptureFixture
):
    provider = provide(package, standin.__name__)
    old = REAL.format(cls=standin.__name__).replace('self, unsupported_model_behavior="warn"', "self")
    provider.caching(old.replace("self.behaviour = unsupported_model_behavior", "pass"))
    model = provider.model()

    with caplog.at_level(logging.INFO, logger="deepagents_builtin"):
        middleware = made_for(plugin.deepagents_middleware(), model)

    assert through(middleware, request_for(model)).model_settings == {"cached": True}
    assert [record.event for record in caplog.records] == ["prompt_caching_option_missing"]


@pytest.mark.spec("ASM-105")
@BOTH
def test_a_missing_module_is_looked_for_once_and_logged_without_a_traceback(
    provide: Any, package: str, plugin: Any, standin: Any, caplog: pytest.LogCaptureFixture
):
    model = provide(package, standin.__name__).model()
    with caplog.at_level(logging.DEBUG, logger="deepagents_builtin"):
        for _ in range(5):
            made_for(plugin.deepagents_middleware(), model)
    (record,) = caplog.records
    assert (record.event, record.levelno, record.exc_info) == (
        "prompt_caching_not_installed",
        logging.DEBUG,
        None,
    )
