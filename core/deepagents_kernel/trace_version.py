"""The version that traces name: the package's own, marked when it runs from a source tree."""

from __future__ import annotations

import functools
import importlib.metadata
import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from deepagents_kernel._version import __version__
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTION = "deepagents-kernel"

_log = get_logger(__name__)


@functools.cache
def trace_version() -> str:
    """The version for traces, found out once a process; never raises.

    An editable install has the local segment ``editable``: what runs may then differ from what was released
    under that number.
    """
    return with_local(__version__, "editable") if is_editable() else __version__


def with_local(version: str, label: str) -> str:
    """*version* with a further local segment, the rest in canonical form; as it is where it is no version."""
    from packaging.version import InvalidVersion, Version

    try:
        parsed = Version(version)
    except InvalidVersion:
        return version
    local = f"{parsed.local}.{label}" if parsed.local else label
    return f"{parsed.public}+{local}"


def is_editable() -> bool:
    """Whether the running package lies in the source tree of an editable install.

    All records of the distribution are read, since an old build on the path may hide the right one, and the
    place of the package decides, so that no foreign checkout is credited.
    """
    try:
        here = Path(__file__).resolve().parent
        return any(here.is_relative_to(root) for root in _editable_roots())
    except Exception:
        _log.debug("trace_version_unknown", exc_info=True)
        return False


def _editable_roots() -> Iterator[Path]:
    for distribution in importlib.metadata.distributions(name=DISTRIBUTION):
        try:
            record = json.loads(distribution.read_text("direct_url.json") or "{}")
            if record.get("dir_info", {}).get("editable") is True:
                yield Path(url2pathname(urlsplit(record["url"]).path)).resolve()
        except Exception:
            _log.debug("trace_version_record_unreadable", exc_info=True)
