"""Numbers and fixed texts of the file tools."""

from typing import Final

from deepagents_kernel.files.formatting import CHARACTERS_PER_TOKEN, TOOL_RESULT_TOKEN_LIMIT

DEFAULT_READ_OFFSET: Final = 0
DEFAULT_READ_LIMIT: Final = 100
NUM_CHARS_PER_TOKEN: Final = CHARACTERS_PER_TOKEN

#: Size of an ``ls``, ``glob`` or ``grep`` result.
TOOL_RESULT_CHAR_LIMIT: Final = TOOL_RESULT_TOKEN_LIMIT * CHARACTERS_PER_TOKEN

#: Seconds that a glob may take. Read at each call: assigning to it takes effect at once.
GLOB_TIMEOUT: float = 10.0
#: Glob calls that run at the same time, in the whole process; more are refused, not queued.
GLOB_WORKERS: Final = 4

#: Matches fetched for the modes of ``grep`` that list files: their cap counts files, and one file with very
#: many matches must not hide the others.
GREP_MATCH_CEILING: Final = 50_000
#: Characters shown of one matched line.
GREP_LINE_CHARS: Final = 1_000

#: Lines compared when an edit finds nothing, to say what is nearly the same.
NEAR_MISS_LINES: Final = 20_000

NO_FILES_FOUND: Final = "No files found"

NO_LINES_REQUESTED_WARNING: Final = (
    "No lines were read, because `limit` was {limit}. The file was not looked at and may well have contents; "
    "ask again with a `limit` of 1 or more."
)
CLAMPED_OFFSET_NOTICE: Final = (
    "[offset {offset} is before the start of the file; reading from the first line]"
)
READ_FILE_TRUNCATION_MSG: Final = (
    "[{file_path}: what was asked for is larger than one result may be. If the next line has a next offset, "
    "go on there. Very long lines use up the space: a copy reformatted to shorter lines shows more.]"
)
READ_FILE_LINE_MSG: Final = (
    "[{file_path}: line {line} alone is larger than one result may be, so only its beginning is shown. "
    "A reformatted copy with shorter lines can be read in full.]"
)
SOURCE_ENCODING_NOTICE: Final = "[decoded from {encoding}]"

LIST_TRUNCATION_NOTE: Final = (
    "[{shown} of {total} paths shown; ask for a narrower folder or pattern to see the others]"
)
SEARCH_CUT_NOTE: Final = "[{shown} of {total} lines shown; narrow the search to see the others]"
LS_PARTIAL_NOTE: Final = "[this listing is incomplete: {error}]"
GREP_PARTIAL_HEADING: Final = "Matches found before the error:"
GREP_SKIPPED_NOTE: Final = "[not searched, because they are no text or too large: {paths}]"
UNADDRESSABLE_NOTE: Final = (
    "[{count} of the paths found hold a backslash or a control character, shown escaped: no file tool takes "
    "such a path, so the file has to be renamed by other means]"
)
IGNORED_NOTE: Final = "[{count} ignored entries were left out]"
GREP_TRUNCATION_NOTE: Final = "[there are more matches; narrow the search, or raise `max_count`]"
GREP_UNFINISHED_NOTE: Final = (
    "[the search stopped early: files may be missing and counts are lower bounds; narrow the search]"
)
GLOB_TRUNCATION_NOTE: Final = (
    "[the search stopped before the end; narrow the pattern or `path` to see everything]"
)
GLOB_UNREADABLE_NOTE: Final = (
    "[some folders could not be read and are left out; a narrower pattern or `path` will not help]"
)
