"""A harness profile from a file of its own: TOML or JSON, as ``HarnessProfileConfig.to_dict`` writes it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepagents_kernel.profiles.harness import HarnessProfile

_READERS: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": json.loads}


def read_profile(path: str | os.PathLike[str]) -> HarnessProfileConfig:
    """The profile in a file.

    Args:
        path: a ``.toml`` or ``.json`` file in UTF-8; relative to the working directory.

    Raises:
        ProfileError: the file can't be read, is not what its ending says, or its profile is malformed.
        ProfileTypeError: a field has the wrong type, or there is no such field.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ProfileError(f"profile {str(file)!r}: a profile is a {' or '.join(_READERS)} file")
    try:
        data = reader(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"profile {str(file)!r}: {error.strerror or error}") from error
    except ValueError as error:
        raise ProfileError(f"profile {str(file)!r}: can't be read: {error}") from error
    try:
        return HarnessProfileConfig.from_dict(data)
    except ProfileError as error:
        kind = ProfileTypeError if isinstance(error, ProfileTypeError) else ProfileError
        raise kind(f"profile {str(file)!r}: {error}") from error


def given_profile(
    profile: HarnessProfile | HarnessProfileConfig | str | os.PathLike[str],
) -> tuple[HarnessProfile | HarnessProfileConfig, str]:
    """What was given as ``profile=``, read if it is a path, and what its layer is called.

    Raises:
        ProfileError: it is a path, and the file is not there or is no profile.
    """
    if isinstance(profile, (str, os.PathLike)):
        return read_profile(profile), str(profile)
    return profile, "profile="
