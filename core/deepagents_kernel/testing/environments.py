"""Environments for tests: virtual environments in which distributions are really installed.

What is installed in the environment that runs the tests can be imported in them too, the kernel included;
what a test installs stands before it and is gone with the folder. Nothing is downloaded.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import deepagents_kernel
from deepagents_kernel.errors import DeepAgentsError, nearest_hint
from deepagents_kernel.plugins.names import distribution_key
from deepagents_kernel.testing.distributions import Distribution, write_wheel
from deepagents_kernel.testing.processes import Completed, labelled, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Python reads these files sorted by name, and editable installs of the test have to come before.
_SHARED = "zzzz_shared_packages.pth"

# Variables of the tests' own process that would decide something in a child.
_LEFT_OUT = ("DEEPAGENTS_", "PYTHON", "PIP_", "XDG_", "LANGSMITH_", "LANGCHAIN_", "PYTEST_", "VIRTUAL_ENV")

_INSTALL = ("install", "--no-index", "--no-deps", "--no-cache-dir", "--force-reinstall")
_PIP_TIMEOUT = 300.0


class PluginEnvironmentError(DeepAgentsError):
    """A virtual environment can't be made or changed.

    Attributes:
        path: folder of the environment.
        reason: what is wrong.
        hint: the way out, or an empty string.
        output: what pip wrote, or an empty string.
    """

    def __init__(self, path: Path, reason: str, hint: str = "", output: str = "") -> None:
        self.path = path
        self.reason = reason
        self.hint = hint
        self.output = output
        lines = [f"environment {str(path)!r}: {reason}"]
        lines += [f"  {hint}"] if hint else []
        super().__init__("\n".join([*lines, *labelled(output=output)]))


class RunOptions(TypedDict, total=False):
    """How something is run in an environment; everything may be left out.

    Attributes:
        env: variables to set besides, or over, those of ``PluginEnvironment.variables()``.
        cwd: the folder in which it runs, instead of the environment's ``workspace``.
        timeout: how many seconds it may take; 60 if nothing is said.
        input: what it reads from its standard input; nothing if nothing is said.
    """

    env: Mapping[str, str] | None
    cwd: Path | str | None
    timeout: float
    input: str | None


class PluginEnvironment:
    """A virtual environment of its own for a test; costs milliseconds to make, and pip half a second a call.

    Args:
        path: its folder, which must be empty or not there yet.

    Attributes:
        path: the same, absolute.
        interpreter: its Python.
        site_packages: where distributions are installed.
        home: home folder of what runs in it; ``XDG_CONFIG_HOME`` and the like are ``config``, ``cache``,
            ``data`` and ``state`` in it.
        workspace: an empty folder in which commands run.

    Raises:
        PluginEnvironmentError: the folder has something in it.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        if self.path.exists() and any(self.path.iterdir()):
            raise PluginEnvironmentError(self.path, "the folder is not empty", "name one that is not there")
        layout = sysconfig.get_paths(scheme="venv", vars={"base": str(self.path), "platbase": str(self.path)})
        self.interpreter = Path(layout["scripts"]) / ("python.exe" if os.name == "nt" else "python")
        self.site_packages = Path(layout["purelib"])
        self.home = self.path / "home"
        self.workspace = self.path / "workspace"
        self._create()

    def __repr__(self) -> str:
        return f"PluginEnvironment({str(self.path)!r})"

    def _create(self) -> None:
        import venv

        venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(self.path)
        for folder in (self.home, self.workspace):
            folder.mkdir()
        lines = [os.fsencode(folder) for folder in shared_folders()]
        (self.site_packages / _SHARED).write_bytes(b"".join(line + b"\n" for line in lines))

    # -- what is installed -------------------------------------------------------------------------

    @property
    def installed(self) -> dict[str, str]:
        """Name and version of each distribution that was installed in here."""
        found = importlib.metadata.distributions(path=[str(self.site_packages)])
        return dict(sorted((distribution.name, distribution.version) for distribution in found))

    def install(self, *distributions: Distribution) -> None:
        """Install distributions, each as a wheel, with one call of pip; another version is replaced.

        Raises:
            PluginEnvironmentError: pip is missing, or refuses.
        """
        if distributions:
            wheels = [write_wheel(self.path / "wheels", item) for item in distributions]
            self._pip(*_INSTALL, *map(str, wheels))

    def install_editable(self, folder: Path | str) -> None:
        """Install a source tree as ``pip install -e`` does; install it again after its metadata changed.

        Args:
            folder: where the ``pyproject.toml`` is. Its build backend has to be installed already.

        Raises:
            PluginEnvironmentError: pip is missing, or refuses.
        """
        self._pip(*_INSTALL, "--no-build-isolation", "--editable", str(Path(folder).absolute()))

    def uninstall(self, name: str) -> None:
        """Uninstall a distribution that was installed in here.

        Raises:
            PluginEnvironmentError: it was not, or pip is missing, or refuses.
        """
        known = self.installed
        if distribution_key(name) not in map(distribution_key, known):
            hint = nearest_hint(name, known) or f"there are: {', '.join(sorted(known)) or 'none'}"
            raise PluginEnvironmentError(self.path, f"no distribution {name!r} was installed in it", hint)
        self._pip("uninstall", "--yes", name)

    def _pip(self, *arguments: str) -> None:
        if importlib.util.find_spec("pip") is None:
            hint = "install it there: add 'pip' to what your tests depend on"
            raise PluginEnvironmentError(self.path, f"pip is missing beside {sys.executable}", hint)
        command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input"]
        done = run_process(
            [*command, "--python", str(self.interpreter), *arguments],
            env={**self.variables(), "PIP_CONFIG_FILE": os.devnull},
            cwd=self.workspace,
            timeout=_PIP_TIMEOUT,
        )
        if done.returncode:
            reason = f"pip {arguments[0]} failed with exit code {done.returncode}"
            raise PluginEnvironmentError(self.path, reason, output=done.stdout + done.stderr)

    # -- what runs in it ---------------------------------------------------------------------------

    def variables(self) -> dict[str, str]:
        """The environment variables of what runs in here.

        Those of the tests' own process, without whatever configures Python, pip or the kernel, and with
        folders of this environment.
        """
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_LEFT_OUT)}
        home = str(self.home)
        return {
            **kept,
            "HOME": home,
            "USERPROFILE": home,
            "APPDATA": str(self.home / "config"),
            "LOCALAPPDATA": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "LANGSMITH_TRACING": "false",
            "PYTHONIOENCODING": "utf-8",
            # A source that is rewritten within a second would be taken from its old bytecode.
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *args: str | os.PathLike[str], **options: Unpack[RunOptions]) -> Completed:
        """Run the environment's Python.

        Args:
            *args: arguments of ``python``.
            **options: see :class:`RunOptions`.

        Raises:
            ProcessTimeoutError: it was not done in time; it was ended.
        """
        return run_process(
            [str(self.interpreter), *(os.fspath(argument) for argument in args)],
            env={**self.variables(), **(options.get("env") or {})},
            cwd=Path(options.get("cwd") or self.workspace),
            timeout=options.get("timeout", 60),
            stdin=options.get("input"),
        )

    def cli(self, *args: str | os.PathLike[str], **options: Unpack[RunOptions]) -> Completed:
        """Run ``deepagents-kernel`` with these arguments; everything else as in :meth:`run`."""
        return self.run("-m", "deepagents_kernel", *args, **options)

    def python(self, code: str, **options: Unpack[RunOptions]) -> Completed:
        """Run lines of Python; everything else as in :meth:`run`."""
        return self.run("-c", code, **options)


def shared_folders() -> list[Path]:
    """Folders of ``sys.path`` that new environments see: installed packages, and sources installed editable.

    The standard library is theirs anyway, and what is importable only because of the folder that the tests
    were started in is left out: a plugin is to be found because it is installed.

    Returns:
        Folders that are there, in the order of ``sys.path``.
    """
    standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    folders = [Path(entry) for entry in dict.fromkeys(sys.path)]
    folders = [folder for folder in folders if folder.is_absolute() and folder.is_dir()]
    folders = [folder for folder in folders if folder not in standard]
    installed = [folder for folder in folders if _holds_distributions(folder)]
    wanted = {*installed, *_named_in_variable()}
    for folder in installed:
        wanted.update(_named_in_files(folder))
    kernel = Path(deepagents_kernel.__file__).absolute().parents[1]
    return list(dict.fromkeys([*(folder for folder in folders if folder in wanted), kernel]))


def _holds_distributions(folder: Path) -> bool:
    return folder.name in {"site-packages", "dist-packages"} or any(folder.glob("*.dist-info"))


def _named_in_variable() -> Iterator[Path]:
    return (Path(entry).absolute() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry)


def _named_in_files(folder: Path) -> Iterator[Path]:
    for file in folder.glob("*.pth"):
        for line in file.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield folder / line.strip()
