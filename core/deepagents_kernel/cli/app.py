"""The command itself: which sub-commands there are, and how errors end it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.call import Call, CommandError, common_options
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.lazy import LazyGroup
from deepagents_kernel.cli.output import PROGRAM, one_line
from deepagents_kernel.errors import DeepAgentsError, error_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_HOOK = "deepagents_cli_commands"
_MOST_TROUBLES = 5

#: The kernel's own commands: name to ("module:attribute", one line). Imported when they are called.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "doctor": ("deepagents_kernel.cli.doctor.command:doctor", "Look for what is wrong, and say what to do."),
    "plan": ("deepagents_kernel.cli.plan:plan", "Show what an agent would be made of, and why."),
    "plugins": ("deepagents_kernel.cli.plugins.group:plugins", "List, explain, switch and lock plugins."),
    "profiles": ("deepagents_kernel.cli.profiles.group:profiles", "List, show and explain profiles."),
    "run": ("deepagents_kernel.cli.run:run", "Let an agent work on a task in a folder."),
    "settings": ("deepagents_kernel.cli.settings:settings", "Show every setting, and who set it."),
}


class App(LazyGroup):
    """The group of all commands, which asks plugins for those that the kernel does not know."""

    def others(self, ctx: click.Context) -> Mapping[str, click.Command]:
        """Commands that plugins add, asked for once."""
        call = ctx.ensure_object(Call)
        if call.plugin_commands is None:
            call.plugin_commands = dict(_ask_plugins(call))
        return call.plugin_commands

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that *args* name; that of a plugin runs with the kernel of this call."""
        name, command, rest = super().resolve_command(ctx, args)
        if name not in self.table:
            from deepagents_kernel.current import use_kernel

            call = ctx.ensure_object(Call)
            ctx.with_resource(use_kernel(call.kernel()))
            call.foreign = True
        return name, command, rest

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> Any:
        """Run and exit, as click's own ``main`` does."""
        sys.exit(self.run(sys.argv[1:] if args is None else args, **extra))

    def run(self, args: Sequence[str], **extra: Any) -> int:
        """Run the command with *args*; every error ends as one message and an exit code.

        Args:
            args: arguments without the name of the program; none at all stands for ``--help``.
            **extra: settings of click's context.
        """
        call = Call()
        given = {**extra, "prog_name": PROGRAM, "standalone_mode": False, "obj": call}
        try:
            result = super().main(list(args), **given)
        except (KeyboardInterrupt, click.Abort) as error:
            # Plugins are not told: what they do at the end may be what was interrupted.
            call.output.error("; ".join(["interrupted", *_notes(error)]))
            return ExitCode.INTERRUPTED
        except SystemExit as error:
            # Click's own exits are no exceptions here.
            code = _ended(error, call)
        except BaseException as error:
            code = _report(error, call)
        else:
            code = result if isinstance(result, int) else ExitCode.OK
        call.close()
        return code


def _ask_plugins(call: Call) -> Iterator[tuple[str, click.Command]]:
    try:
        kernel = call.kernel()
    except DeepAgentsError as error:
        # Plugins that don't fit together must not take the kernel's own commands with them.
        call.output.warning(f"the commands of plugins are missing: {error}")
        return
    for plugin, ask in kernel.calls.each(_HOOK):
        try:
            found = ask()
        except (DeepAgentsError, SystemExit) as error:
            call.warn(f"the commands of plugin {plugin} are missing: {_described(error)}")
            continue
        yield from _checked(plugin, found, call)


def _checked(plugin: str, found: Iterable[Any], call: Call) -> Iterator[tuple[str, click.Command]]:
    for command in found:
        if not isinstance(command, click.Command) or not command.name:
            call.warn(f"plugin {plugin}: {type(command).__name__} is not a command")
        elif command.name in COMMANDS:
            call.warn(f"plugin {plugin}: the kernel has a command {command.name!r} already")
        else:
            yield command.name, command


def _ended(error: SystemExit, call: Call) -> int:
    """What becomes of a call of ``sys.exit``: a command of a plugin may do that, nothing else may."""
    if _raised_in(error) == "click.core":
        # Whoever read the output has gone, and click ends the process.
        return ExitCode.FAILED
    if not call.foreign:
        return _report(error, call)
    if error.code is None or isinstance(error.code, int):
        return error.code or ExitCode.OK
    call.output.error(str(error.code))
    return ExitCode.FAILED


def _raised_in(error: BaseException) -> str:
    """Name of the module that raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else str(step.tb_frame.f_globals.get("__name__"))


def _report(error: BaseException, call: Call) -> int:
    if call.debug:
        import traceback

        call.output.traceback("".join(traceback.format_exception(error)))
    if isinstance(error, DeepAgentsError):
        call.output.error(str(error))
        return error.code if isinstance(error, CommandError) else ExitCode.USAGE
    if isinstance(error, click.ClickException):
        call.output.error(_usage(error))
        return ExitCode.USAGE
    hint = "" if call.debug else " (--debug shows where)"
    call.output.error("\n  ".join([f"{_described(error)}{hint}", *_environment()]))
    return ExitCode.FAILED


def _described(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        what = f"something ended the process in the middle of the work: SystemExit({error.code!r})"
    else:
        what = error_text(error)
    return "; ".join([what, *_notes(error)])


def _notes(error: BaseException) -> list[str]:
    """What was said about an exception on its way, such as the plugin that was being loaded."""
    return [one_line(str(note)) for note in getattr(error, "__notes__", ())]


def _environment() -> list[str]:
    """What can't be read of the installed packages: it breaks the plugin loaders of other libraries too."""
    try:
        from deepagents_kernel.plugins.installed import scan

        found = [one_line(f"{item.where} can't be read: {item.reason}") for item in scan().troubles]
    except Exception:
        return []
    more = [f"and {len(found) - _MOST_TROUBLES} more"] if len(found) > _MOST_TROUBLES else []
    return [*found[:_MOST_TROUBLES], *more, f"see: {PROGRAM} doctor"] if found else []


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else PROGRAM
    return f"{one_line(error.format_message()).rstrip('.')} (see {where} --help)"


@common_options
@click.command(cls=App, table=COMMANDS)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def app() -> None:
    """Plan, check and run agents made of plugins."""
