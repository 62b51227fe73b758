"""What the built-in profiles change of what a model is really sent, in each format, with the real clients."""

from __future__ import annotations

import anthropic_server
import gemini_server
import pytest
import responses_server
from anthropic_server import AnthropicServer
from gemini_server import GeminiServer
from openai_server import OpenAIServer
from responses_server import ResponsesServer

from deepagents_kernel import HarnessProfile, Kernel, ProviderProfile, create_deep_agent
from deepagents_kernel.model_facts import finish_meaning, finish_signal

TAGS = ["use_parallel_tool_calls", "investigate_before_answering", "tool_result_reflection"]
OPUS_TAGS = [*TAGS, "tool_usage", "subagent_usage"]
POET = {"name": "poet", "description": "Writes verse.", "system_prompt": "You write verse."}
FILE_TOOLS = ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "NVIDIA"):
        monkeypatch.setenv(f"{name}_API_KEY", "not-a-key")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "NVIDIA_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def kernel_at(server, **options):
    options.setdefault("settings", {})["model.init-chat-model"] = {
        "base_url": server.base_url,
        "options": {"max_retries": 0},
    }
    return Kernel(**options)


def run(spec, kernel, **arguments):
    return create_deep_agent(spec, kernel=kernel, **arguments).invoke({"messages": "hi"})


def tags_in(text):
    return [tag for tag in OPUS_TAGS if f"<{tag}>" in text and f"</{tag}>" in text]


# -- OpenAI --------------------------------------------------------------------------------------


@pytest.mark.spec("PP-040")
def test_models_of_openai_are_asked_by_the_responses_api():
    with ResponsesServer("done") as server:
        result = run("openai:gpt-5.1-codex", kernel_at(server))
    assert [request.path for request in server.requests] == ["/v1/responses"]
    assert server.requests[0].json["model"] == "gpt-5.1-codex"
    assert result["messages"][-1].text == "done"


@pytest.mark.parametrize(
    "options",
    [
        {"disable": ["provider.openai"]},
        {"settings": {"provider.openai": {"use_responses_api": False}}},
    ],
    ids=["without the plugin", "by setting"],
)
def test_without_the_profile_other_models_are_asked_by_chat_completions(options):
    with OpenAIServer("done") as server:
        kernel = kernel_at(server, **options)
        run("openai:gpt-x", kernel)
    assert [request.path for request in server.requests] == ["/v1/chat/completions"]


def test_settings_of_one_agent_decide_over_those_of_the_kernel():
    chat = {"provider.openai": {"use_responses_api": False}}
    with OpenAIServer("done") as server:
        kernel = kernel_at(server)
        run("openai:gpt-x", kernel, settings=chat, subagents=[{**POET, "model": "openai:gpt-y"}])
    with ResponsesServer("done") as other:
        run("openai:gpt-x", kernel_at(other))
    assert server.requests[0].path == "/v1/chat/completions"
    assert other.requests[0].path == "/v1/responses"


@pytest.mark.parametrize("name", ["gpt-5.1-codex", "gpt-5.2-codex", "gpt-5.3-codex"])
@pytest.mark.spec("CDX-001", "CDX-003")
def test_codex_models_get_the_list_of_tasks_and_the_advice(name):
    turns = [[("task", {"description": "x", "subagent_type": "poet"})], "child", "done"]
    with ResponsesServer(turns) as server:
        run(f"openai:{name}", kernel_at(server), system_prompt="USER", subagents=[POET])
    main, child, _ = server.requests
    assert responses_server.tools_of(main) == [*FILE_TOOLS, "task", "write_todos"]
    assert responses_server.tools_of(child) == [*FILE_TOOLS, "write_todos"]
    for request, own in ((main, "USER"), (child, "You write verse.")):
        system = responses_server.system_of(request)
        assert own in system
        assert system.count("## Keeping the list of tasks") == 1


def test_codex_models_without_the_profile_get_neither():
    with ResponsesServer("done") as server:
        run("openai:gpt-5.1-codex", kernel_at(server, disable=["harness.openai-codex"]))
    assert responses_server.tools_of(server.requests[0]) == [*FILE_TOOLS, "task"]
    assert responses_server.system_of(server.requests[0]).strip() == ""


@pytest.mark.spec("CDX-001")
def test_other_models_of_openai_get_neither():
    with ResponsesServer("done") as server:
        run("openai:gpt-5.4", kernel_at(server))
    assert "write_todos" not in responses_server.tools_of(server.requests[0])
    assert responses_server.system_of(server.requests[0]).strip() == ""


def test_the_list_is_offered_once_when_its_plugin_is_on_too():
    with ResponsesServer("done") as server:
        kernel = Kernel.discover(
            enable=["middleware.todo-list"],
            autoload=False,
            settings={"model.init-chat-model": {"base_url": server.base_url}},
        )
        run("openai:gpt-5.1-codex", kernel)
        run("openai:gpt-5.4", kernel)
    first, second = server.requests
    assert responses_server.tools_of(first) == responses_server.tools_of(second)
    assert responses_server.tools_of(first).count("write_todos") == 1


# -- Anthropic -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tags"),
    [("claude-opus-4-7", OPUS_TAGS), ("claude-sonnet-4-6", TAGS), ("claude-haiku-4-5", TAGS)],
)
@pytest.mark.spec("ANT-001", "ANT-002", "ANT-003")
def test_claude_models_read_their_sections_behind_the_prompt(name, tags):
    with AnthropicServer("done") as server:
        run(f"anthropic:{name}", kernel_at(server), system_prompt="USER")
        run(f"anthropic:{name}", kernel_at(server, disable=[f"harness.{name}"]), system_prompt="USER")
    having, bare = server.requests
    text = "".join(block["text"] for block in anthropic_server.system_of(having))
    assert text.startswith("USER\n\n<use_parallel_tool_calls>")
    assert tags_in(text) == tags
    assert [block["text"] for block in anthropic_server.system_of(bare)] == ["USER"]
    # A suffix and nothing else: the rest of the request is the same.
    assert {**having.json, "system": None} == {**bare.json, "system": None}


@pytest.mark.spec("ANT-002")
def test_the_suffix_comes_before_the_cache_breakpoint():
    with AnthropicServer("done") as server:
        run("anthropic:claude-sonnet-4-6", kernel_at(server), system_prompt="USER")
    blocks = anthropic_server.system_of(server.requests[0])
    assert blocks[-1]["cache_control"]["type"] == "ephemeral"
    assert blocks[-1]["text"].endswith("</tool_result_reflection>")


# -- Gemini --------------------------------------------------------------------------------------


def test_models_that_no_profile_names_are_sent_what_the_agent_says():
    with GeminiServer([[("ls", {"path": "/"})], "done"]) as server:
        result = run("google_genai:gemini-2.5-pro", kernel_at(server), system_prompt="USER")
    first, second = server.requests
    assert first.path.endswith("/models/gemini-2.5-pro:generateContent")
    assert gemini_server.system_of(first) == "USER"
    assert gemini_server.tools_of(first) == [*FILE_TOOLS, "task"]
    assert [item["role"] for item in second.json["contents"]] == ["user", "model", "user"]
    assert result["messages"][-1].text == "done"


def test_profiles_of_ones_own_reach_gemini():
    with GeminiServer("done") as server:
        kernel = kernel_at(server)
        kernel.profiles.register_provider(
            "google_genai", ProviderProfile(init_kwargs={"additional_headers": {"x-house": "yes"}})
        )
        kernel.profiles.register_harness(
            "google_genai:gemini-2.5-pro", HarnessProfile(system_prompt_suffix="Be brief.")
        )
        run("google_genai:gemini-2.5-pro", kernel, system_prompt="USER")
    (request,) = server.requests
    assert gemini_server.system_of(request) == "USER\n\nBe brief."
    assert request.headers["x-house"] == "yes"


# -- NVIDIA --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning:langchain_nvidia_ai_endpoints")
@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, "deepagents-kernel"),
        ({"settings": {"provider.nvidia": {"invoke_origin": "the-house"}}}, "the-house"),
        ({"settings": {"provider.nvidia": {"invoke_origin": ""}}}, None),
        ({"disable": ["provider.nvidia"]}, None),
    ],
    ids=["default", "setting", "empty", "without the plugin"],
)
@pytest.mark.spec("PP-041")
def test_requests_to_nvidia_say_what_sends_them(options, sent):
    with OpenAIServer("done") as server:
        settings = options.pop("settings", {})
        init = {"model.init-chat-model": {"base_url": server.base_url}}
        kernel = Kernel(**options, settings={**settings, **init})
        model = kernel.resolve_model("nvidia:meta/llama-3.3-70b-instruct")
        assert model.invoke("hi").text == "done"
    request = next(item for item in server.requests if item.path == "/v1/chat/completions")
    assert request.headers.get("x-billing-invoke-origin") == sent


# -- how answers end -----------------------------------------------------------------------------

CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
REFUSED = {
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "no"}],
        }
    ]
}


@pytest.mark.parametrize(
    ("turn", "signal", "meaning"),
    [
        ("done", "completed", "normal"),
        ([("ls", {"path": "/"})], "completed", "tool_use"),
        (CUT, "max_output_tokens", "cut_off"),
        (FILTERED, "content_filter", "refused"),
        (REFUSED, "refusal", "refused"),
    ],
)
def test_the_end_of_an_answer_of_the_responses_api(turn, signal, meaning):
    with ResponsesServer([turn]) as server:
        kernel = kernel_at(server)
        message = kernel.resolve_model("openai:gpt-5.3-codex").invoke("hi")
    assert finish_signal(message) == signal
    assert finish_meaning(message, kernel.model_facts("openai:gpt-5.3-codex")) == meaning


@pytest.mark.parametrize(
    ("turn", "signal", "meaning"),
    [
        ("done", "end_turn", "normal"),
        ([("ls", {"path": "/"})], "tool_use", "tool_use"),
        ({"stop_reason": "max_tokens"}, "max_tokens", "cut_off"),
        ({"stop_reason": "model_context_window_exceeded"}, "model_context_window_exceeded", "cut_off"),
        ({"stop_reason": "refusal"}, "refusal", "refused"),
        ({"stop_reason": "pause_turn"}, "pause_turn", "paused"),
    ],
)
def test_the_end_of_an_answer_of_anthropic(turn, signal, meaning):
    with AnthropicServer([turn]) as server:
        kernel = kernel_at(server)
        model = kernel.resolve_model("anthropic:claude-haiku-4-5")
        message = model.invoke("hi")
    assert finish_signal(message) == signal
    assert finish_meaning(message, kernel.model_facts(model)) == meaning


@pytest.mark.parametrize(("turn", "meaning"), [("done", "normal"), ([("ls", {"path": "/"})], "tool_use")])
def test_the_end_of_an_answer_of_chat_completions(turn, meaning):
    with OpenAIServer([turn]) as server:
        kernel = kernel_at(server, settings={"provider.openai": {"use_responses_api": False}})
        model = kernel.resolve_model("openai:gpt-x")
        assert finish_meaning(model.invoke("hi"), kernel.model_facts(model)) == meaning
