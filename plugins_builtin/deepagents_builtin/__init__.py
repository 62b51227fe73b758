"""The built-in plugins. This module is their table and imports none of them."""

from deepagents_kernel._builtin import BuiltinTable

_MIDDLEWARE = "deepagents_builtin.middleware"
_BACKENDS = "deepagents_builtin.backends"
_MODELS = "deepagents_builtin.models"

BUILTIN = BuiltinTable(
    plugins={
        "middleware.filesystem": f"{_MIDDLEWARE}.filesystem.plugin",
        "middleware.subagents": f"{_MIDDLEWARE}.subagents.plugin",
        "middleware.patch-tool-calls": f"{_MIDDLEWARE}.patch_tool_calls.plugin",
        "middleware.prompt-caching-anthropic": f"{_MIDDLEWARE}.prompt_caching_anthropic.plugin",
        "middleware.prompt-caching-bedrock": f"{_MIDDLEWARE}.prompt_caching_bedrock.plugin",
        "middleware.prompt-caching-fireworks": f"{_MIDDLEWARE}.prompt_caching_fireworks.plugin",
        "middleware.human-in-the-loop": f"{_MIDDLEWARE}.human_in_the_loop.plugin",
        "middleware.tool-exclusion": f"{_MIDDLEWARE}.tool_exclusion.plugin",
        "backend.state": f"{_BACKENDS}.state.plugin",
        "backend.filesystem": f"{_BACKENDS}.filesystem.plugin",
        "model.init-chat-model": f"{_MODELS}.init_chat_model.plugin",
        "model.offline": f"{_MODELS}.offline.plugin",
        "model.scripted": f"{_MODELS}.scripted.plugin",
    },
    exports={
        "FilesystemMiddleware": f"{_MIDDLEWARE}.filesystem.middleware:FilesystemMiddleware",
        "FsToolName": f"{_MIDDLEWARE}.filesystem.names:FsToolName",
        "SubAgentMiddleware": f"{_MIDDLEWARE}.subagents.middleware:SubAgentMiddleware",
    },
    middleware_exports={
        "FilesystemMiddleware": f"{_MIDDLEWARE}.filesystem.middleware:FilesystemMiddleware",
        "PatchToolCallsMiddleware": f"{_MIDDLEWARE}.patch_tool_calls.middleware:PatchToolCallsMiddleware",
        "SubAgentMiddleware": f"{_MIDDLEWARE}.subagents.middleware:SubAgentMiddleware",
    },
    backend_exports={
        "FilesystemBackend": f"{_BACKENDS}.filesystem.backend:FilesystemBackend",
        "StateBackend": f"{_BACKENDS}.state.backend:StateBackend",
    },
    absent={
        "AsyncSubAgentMiddleware": "middleware.async-subagents",
        "MemoryMiddleware": "middleware.memory",
        "RubricMiddleware": "middleware.rubric",
        "SkillsMiddleware": "middleware.skills",
        "SummarizationMiddleware": "middleware.summarization",
        "UnsupportedContentMiddleware": "middleware.unsupported-content",
        "CompositeBackend": "backend.composite",
        "ContextHubBackend": "backend.context-hub",
        "DEFAULT_EXECUTE_TIMEOUT": "backend.local-shell",
        "LangSmithSandbox": "backend.langsmith-sandbox",
        "LocalShellBackend": "backend.local-shell",
        "NamespaceFactory": "backend.store",
        "StoreBackend": "backend.store",
    },
    features={
        "async-subagents": "middleware.async-subagents",
        "excluded-tools": "middleware.tool-exclusion",
        "fork": "middleware.subagents",
        "interrupts": "middleware.human-in-the-loop",
        "memory": "middleware.memory",
        "permissions": "middleware.filesystem",
        "skills": "middleware.skills",
        "subagents": "middleware.subagents",
    },
    scaffolding=frozenset({"FilesystemMiddleware", "SubAgentMiddleware"}),
    required=frozenset({"middleware.filesystem", "middleware.subagents"}),
    guard="middleware.tool-exclusion",
    default_backend="state",
)
