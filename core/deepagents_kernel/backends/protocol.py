"""What backend authors build on: the protocol, the result types and the codes."""

from deepagents_kernel._lazy import lazy_exports

_BACKEND = (
    "BackendProtocol",
    "SandboxBackendProtocol",
    "execute_accepts_timeout",
    "grep_accepts_max_count",
    "supports_delete",
    "trim_grep_result",
)
_RESULTS = (
    "ASYNC_GLOB_TIMEOUT",
    "ASYNC_GREP_TIMEOUT",
    "DEFAULT_GREP_TIMEOUT",
    "FILE_NOT_FOUND",
    "INVALID_PATH",
    "IS_DIRECTORY",
    "PERMISSION_DENIED",
    "ContextLine",
    "DeleteResult",
    "EditResult",
    "ExecuteArtifact",
    "ExecuteOffloadResult",
    "ExecuteResponse",
    "FileData",
    "FileDownloadResponse",
    "FileInfo",
    "FileOperationError",
    "FileUploadResponse",
    "GlobResult",
    "GlobTruncationReason",
    "GrepMatch",
    "GrepResult",
    "LsResult",
    "ReadResult",
    "WriteResult",
)
_EXPORTS = {
    **{name: f"deepagents_kernel.contracts.backend:{name}" for name in _BACKEND},
    **{name: f"deepagents_kernel.contracts.results:{name}" for name in _RESULTS},
}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _EXPORTS, absent=dict)
