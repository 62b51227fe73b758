"""Import a plugin in a process of its own: whatever it does there, this process goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from attrs import field, frozen

from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.plugins.checks import reason_not_to_import
from deepagents_kernel.plugins.loadcache import LoadResult, update_cache

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepagents_kernel.cli.call import Call
    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow
    from deepagents_kernel.plugins.lockfile import Lock

#: Seconds that an import may take.
TIMEOUT = 30.0

# The path comes first: what is importable here has to be importable there, and nothing else.
_CODE = """\
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request["path"]
from deepagents_kernel.cli.plugins.child import main
main(request)
"""
_CHUNK, _CHUNKS = 4096, 4


@frozen
class Probe:
    """What importing a plugin has shown.

    Attributes:
        row: the plugin.
        error: why it could not be loaded; empty if it could.
        hint: the way out.
        imported: whether it was tried at all.
        found: what the process that imported it has found; empty if it did not come to an end.
        output: the last of what it printed.
    """

    row: CatalogRow
    error: str = ""
    hint: str = ""
    imported: bool = True
    found: Mapping[str, Any] = field(factory=dict)
    output: str = ""

    @property
    def result(self) -> LoadResult:
        """The outcome as listings keep it."""
        row, found = self.row, self.found
        provides = tuple(found.get("provides", ()))
        seconds = float(found.get("seconds") or 0.0)
        return LoadResult(row.name, row.distribution, row.version, provides, self.error, seconds)


def probe(catalog: Catalog, row: CatalogRow, locks: Sequence[Lock], timeout: float = TIMEOUT) -> Probe:
    """Import a plugin in a process of its own, and note the outcome for listings.

    Args:
        catalog: what the plugin may require.
        row: the plugin.
        locks: lock files; a plugin that differs from one is not imported.
        timeout: seconds that it may take.
    """
    reason = reason_not_to_import(row, locks)
    if reason:
        return Probe(row, reason, row.hint, imported=False)
    allowed = {
        item.name for item in catalog.rows if item is not row and not reason_not_to_import(item, locks)
    }
    found, ended, output = _asked({"name": row.name, "allowed": sorted(allowed)}, timeout)
    error = one_line(str(found.get("error", ended) if found else ended))
    done = Probe(row, error, str(found.get("hint", "")), found=found, output=output)
    if row.installed is not None:
        update_cache([done.result])
    return done


def kernel_error(call: Call, timeout: float) -> str:
    """Why no kernel can be built with the configuration of this call; empty if one can.

    It is tried in a process of its own, with all plugins that are on.
    """
    found, ended, _ = _asked({"single": call.single, "config": call.config}, timeout)
    return str(found.get("error", "") if found else ended)


def _asked(request: Mapping[str, Any], timeout: float) -> tuple[dict[str, Any], str, str]:
    """What another process has found, how it ended, and what it printed."""
    with tempfile.TemporaryDirectory(prefix="deepagents-") as folder:
        result = Path(folder) / "result.json"
        path = [entry for entry in sys.path if isinstance(entry, str)]
        ended, output = _run(json.dumps({**request, "path": path, "result": str(result)}), timeout)
        return _read(result), ended, output


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _run(request: str, timeout: float) -> tuple[str, str]:
    """How the process ended, as the reason why there is no result, and what it printed."""
    process = subprocess.Popen(  # noqa: S603 - the interpreter that runs this
        [sys.executable, "-c", _CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A group of its own, so that what it starts can be ended together with it.
        start_new_session=True,
    )
    tail: deque[bytes] = deque(maxlen=_CHUNKS)
    stdin = cast("IO[bytes]", process.stdin)
    reader = threading.Thread(target=_drain, args=(process.stdout, tail), daemon=True)
    reader.start()
    try:
        with contextlib.suppress(OSError), stdin:
            stdin.write(request.encode("utf-8"))
        ended = _ending(process.wait(timeout))
    except subprocess.TimeoutExpired:
        ended = f"importing it was not done after {timeout:g} s, and was stopped"
        _end(process)
    except BaseException:
        _end(process)
        raise
    # Whoever inherited the stream may keep it open for ever.
    reader.join(0.5)
    return ended, b"".join(tail).decode("utf-8", errors="replace").strip()


def _drain(stream: IO[bytes], tail: deque[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        while chunk := os.read(stream.fileno(), _CHUNK):
            tail.append(chunk)


def _ending(code: int) -> str:
    if code >= 0:
        return f"it ended the process that imported it, with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process that imported it crashed ({name})"


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
