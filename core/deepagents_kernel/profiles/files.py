"""A harness profile from a file of its own: TOML, YAML or JSON, as ``HarnessProfileConfig`` writes it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.paths import read_regular
from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepagents_kernel.profiles.harness import HarnessProfile


def _once(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A mapping; a key that is there twice is an error, as in TOML, and not one of both by chance."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _yaml(text: str) -> Any:
    # Imported for such a file only: it is slow to import.
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
            found = super().construct_mapping(node, deep)  # refuses keys that can be none
            _once((self.construct_object(key, deep=True), None) for key, _ in node.value)
            return found

    try:
        return yaml.load(text, Loader)  # noqa: S506 - a subclass of the safe one
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


_READERS: dict[str, Callable[[str], Any]] = {
    ".toml": tomllib.loads,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
}


def read_profile(path: str | os.PathLike[str]) -> HarnessProfileConfig:
    """The profile in a file.

    Args:
        path: a ``.toml``, ``.yaml``, ``.yml`` or ``.json`` file in UTF-8; relative to the working directory.

    Raises:
        ProfileError: the file can't be read, is not what its ending says, or its profile is malformed.
        ProfileTypeError: a field has the wrong type, or there is no such field.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ProfileError(f"profile {str(file)!r}: a profile is a {', '.join(_READERS)} file")
    try:
        text = read_regular(file).decode("utf-8")
        # Empty, it says nothing in any of the formats, as in TOML.
        data = reader(text) if text.strip() else {}
    except OSError as error:
        raise ProfileError(f"profile {str(file)!r}: {error.strerror or error}") from error
    except ValueError as error:
        raise ProfileError(f"profile {str(file)!r}: can't be read: {error}") from error
    except RecursionError as error:
        raise ProfileError(f"profile {str(file)!r}: can't be read: it is nested too deeply") from error
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
