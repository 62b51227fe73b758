"""Argument schemas of the file tools.

Module constants: every agent of the process shares them, and none holds the injected ``runtime`` (with it,
the host would serialize the whole state at each call).
"""

from __future__ import annotations

import functools
from typing import Literal

from pydantic import BaseModel, Field, create_model

from deepagents_builtin.middleware.filesystem.constants import DEFAULT_READ_LIMIT, DEFAULT_READ_OFFSET
from deepagents_builtin.middleware.filesystem.descriptions import (
    GREP_GLOB_DESCRIPTION,
    GREP_OUTPUT_MODE_DESCRIPTION,
)

GrepOutputMode = Literal["files_with_matches", "content", "count"]

_FILE_PATH = "Absolute path of the file."


class LsSchema(BaseModel):
    """Arguments of ``ls``."""

    path: str = Field(description="Absolute path of the folder.")


class ReadFileSchema(BaseModel):
    """Arguments of ``read_file``."""

    file_path: str = Field(description=_FILE_PATH)
    offset: int = Field(
        default=DEFAULT_READ_OFFSET, description="Number of lines to skip; 0 starts at the first line."
    )
    limit: int = Field(default=DEFAULT_READ_LIMIT, description="How many lines to read at most.")


class WriteFileSchema(BaseModel):
    """Arguments of ``write_file``."""

    file_path: str = Field(description=_FILE_PATH)
    content: str = Field(description="The whole new content of the file.")


class EditFileSchema(BaseModel):
    """Arguments of ``edit_file``."""

    file_path: str = Field(description=_FILE_PATH)
    old_string: str = Field(
        description="Exact text to replace; must occur only once unless `replace_all` is set."
    )
    new_string: str = Field(description="Text to put in its place; must differ from `old_string`.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


class GlobSchema(BaseModel):
    """Arguments of ``glob``."""

    pattern: str = Field(description="What to look for, such as `*.py`, `src/**/*.ts` or `/*.md`.")
    path: str | None = Field(
        default=None, description="Absolute path of the folder to search; leave out for everything."
    )


class GrepSchema(BaseModel):
    """Arguments of ``grep``."""

    pattern: str = Field(description="Literal text to look for, within one line.")
    path: str | None = Field(
        default=None, description="Absolute path of a folder or file to search; leave out for everything."
    )
    glob: str | None = Field(default=None, description=GREP_GLOB_DESCRIPTION)
    output_mode: GrepOutputMode = Field(
        default="files_with_matches", description=GREP_OUTPUT_MODE_DESCRIPTION
    )
    max_count: int | None = Field(
        default=None,
        gt=0,
        description="Stop after this many files, or matches with `content`; leave out for the usual cap.",
    )


@functools.cache
def read_file_schema(limit: int) -> type[BaseModel]:
    """``ReadFileSchema`` with another default for ``limit``; one class a process for each value."""
    if limit == DEFAULT_READ_LIMIT:
        return ReadFileSchema
    annotated = Field(default=limit, description=ReadFileSchema.model_fields["limit"].description)
    schema: type[BaseModel] = create_model("ReadFileSchema", __base__=ReadFileSchema, limit=(int, annotated))
    return schema
