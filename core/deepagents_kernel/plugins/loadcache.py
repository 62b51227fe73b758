"""What the last load of each installed plugin found, kept between runs.

Listings show it instead of importing third parties. It is a hint and nothing depends on it: whatever is wrong
with the file, it counts as empty, and a result that can't be kept is lost.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, field, fields, frozen, validators

from deepagents_kernel.config.paths import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.plugins.installed import InstalledPlugin

FORMAT = 1

_text = validators.instance_of(str)
_is_tuple = validators.instance_of(tuple)


@frozen
class LoadResult:
    """What came of the last load of a plugin.

    Attributes:
        name: the plugin.
        distribution: the distribution that it came from.
        version: version of the distribution.
        provides: what it offers, for listings.
        error: why it could not be loaded; empty if it could.
        seconds: how long it took.
    """

    name: str = field(validator=_text)
    distribution: str = field(default="", validator=_text)
    version: str = field(default="", validator=_text)
    provides: tuple[str, ...] = field(default=(), validator=validators.deep_iterable(_text, _is_tuple))
    error: str = field(default="", validator=_text)
    seconds: float = field(default=0.0, validator=[validators.instance_of((int, float)), validators.ge(0)])


def cache_path() -> Path:
    """The file, one for each environment."""
    import zlib

    import platformdirs

    # Only to tell environments apart: what is in the file counts for the same distribution and version alone.
    environment = f"{zlib.crc32(os.fsencode(sys.prefix)):08x}"
    return platformdirs.user_cache_path("deepagents-kernel") / f"loads-{environment}.json"


def read_cache() -> Mapping[str, LoadResult]:
    """Every result that is known, by plugin; nothing at all when anything is wrong with the file."""
    try:
        return _read(cache_path())
    except Exception:  # a cache that can't be read is an empty one, whatever the reason
        return {}


def last_load(plugin: InstalledPlugin, cache: Mapping[str, LoadResult]) -> LoadResult | None:
    """The result that counts for a plugin: that of the same distribution, in the same version."""
    result = cache.get(plugin.name)
    if result is None or (result.distribution, result.version) != (plugin.distribution, plugin.version):
        return None
    return result


def update_cache(results: Iterable[LoadResult]) -> None:
    """Add results to those that are known, each in place of the older one.

    Never raises, and leaves the file alone when nothing has changed but how long it took, and that by less
    than half. When two processes write at once, the results of one may be lost.
    """
    with suppress(Exception):
        path = cache_path()
        known = read_cache()
        merged = {**known, **{result.name: result for result in results}}
        if all(name in known and _is_alike(known[name], result) for name, result in merged.items()):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, _written(merged))


def replace_file(path: Path, text: str) -> None:
    """Write a whole file, by way of a temporary one next to it. A link is followed."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _read(path: Path) -> dict[str, LoadResult]:
    import json

    document: Any = json.loads(read_regular(path))
    if document["format"] != FORMAT:
        return {}
    known = {attribute.name for attribute in fields(LoadResult)}
    results = {}
    for row in document["loads"]:
        values: dict[str, Any] = {key: row[key] for key in known}
        if isinstance(values["provides"], list):
            values["provides"] = tuple(values["provides"])
        results[row["name"]] = LoadResult(**values)
    return results


def _written(results: Mapping[str, LoadResult]) -> str:
    import json

    rows = [asdict(results[name]) for name in sorted(results)]
    return json.dumps({"format": FORMAT, "loads": rows}, indent=1) + "\n"


def _is_alike(one: LoadResult, other: LoadResult) -> bool:
    same = evolve(one, seconds=other.seconds) == other
    return same and abs(one.seconds - other.seconds) < 0.5 * max(one.seconds, 0.001)
