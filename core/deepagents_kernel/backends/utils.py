"""The helpers that backend authors import: paths, globs, windows, replacement, search, formatting."""

from deepagents_kernel._lazy import lazy_exports

_ROOMS = {
    "contracts.results": ("FileInfo", "GrepMatch"),
    "files.file_data": (
        "MAX_VIDEO_INPUT_BYTES",
        "create_file_data",
        "file_data_to_string",
        "update_file_data",
    ),
    "files.formatting": (
        "EMPTY_CONTENT_WARNING",
        "MAX_LINE_LENGTH",
        "TOOL_RESULT_TOKEN_LIMIT",
        "TRUNCATION_GUIDANCE",
        "TRUNCATION_MARKER_TEMPLATE",
        "check_empty_content",
        "format_content_with_line_numbers",
        "sanitize_tool_call_id",
        "truncate_if_too_long",
    ),
    "files.globs": ("InvalidGlobPatternError", "compile_grep_include_glob"),
    "files.grepping": (
        "build_grep_results_dict",
        "format_grep_matches",
        "grep_matches_from_files",
        "regex_literal_hint",
    ),
    "files.paths": ("InvalidPathError", "canonical_path", "to_posix_path", "validate_path"),
    "files.replacing": ("EMPTY_OLD_STRING_ERROR", "perform_string_replacement"),
    "files.windows": ("normalize_read_bounds", "slice_read_response"),
}
_EXPORTS = {name: f"deepagents_kernel.{room}:{name}" for room, names in _ROOMS.items() for name in names}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _EXPORTS, absent=dict)
