"""The built-in plugins. This module is their table and imports none of them."""

from deepagents_kernel._builtin import BuiltinTable

BUILTIN = BuiltinTable(
    plugins={
        "middleware.filesystem": "deepagents_builtin.middleware.filesystem.plugin",
        "middleware.subagents": "deepagents_builtin.middleware.subagents.plugin",
        "middleware.patch-tool-calls": "deepagents_builtin.middleware.patch_tool_calls.plugin",
        "middleware.prompt-caching-anthropic": "deepagents_builtin.middleware.prompt_caching_anthropic.plugin",
        "middleware.prompt-caching-bedrock": "deepagents_builtin.middleware.prompt_caching_bedrock.plugin",
        "middleware.prompt-caching-fireworks": "deepagents_builtin.middleware.prompt_caching_fireworks.plugin",
        "middleware.human-in-the-loop": "deepagents_builtin.middleware.human_in_the_loop.plugin",
        "middleware.tool-exclusion": "deepagents_builtin.middleware.tool_exclusion.plugin",
        "backend.state": "deepagents_builtin.backends.state.plugin",
        "backend.filesystem": "deepagents_builtin.backends.filesystem.plugin",
        "model.init-chat-model": "deepagents_builtin.models.init_chat_model.plugin",
        "model.offline": "deepagents_builtin.models.offline.plugin",
        "model.scripted": "deepagents_builtin.models.scripted.plugin",
    },
    exports={
        "FilesystemMiddleware": "deepagents_builtin.middleware.filesystem.middleware:FilesystemMiddleware",
        "FsToolName": "deepagents_builtin.middleware.filesystem.names:FsToolName",
        "SubAgentMiddleware": "deepagents_builtin.middleware.subagents.middleware:SubAgentMiddleware",
    },
    middleware_exports={
        "FilesystemMiddleware": "deepagents_builtin.middleware.filesystem.middleware:FilesystemMiddleware",
        "PatchToolCallsMiddleware": "deepagents_builtin.middleware.patch_tool_calls.middleware:PatchToolCallsMiddleware",
        "SubAgentMiddleware": "deepagents_builtin.middleware.subagents.middleware:SubAgentMiddleware",
    },
    backend_exports={
        "FilesystemBackend": "deepagents_builtin.backends.filesystem.backend:FilesystemBackend",
        "StateBackend": "deepagents_builtin.backends.state.backend:StateBackend",
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
