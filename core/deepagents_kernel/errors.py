"""Every error that the kernel raises, and the problems that a plan can have.

All derive from :class:`DeepAgentsError`. Where callers already catch a built-in exception for a case
(``ValueError`` for a bad configuration, ``AssertionError`` for two middleware of one name), the class
here is a subclass of that one too. Each carries its facts as fields; the text is made from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import evolve, field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def nearest(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The names in *known* that look most like *name*, best first, at most *count* of them."""
    # Imported when something is wrong; most runs never need it.
    import difflib

    candidates = sorted({item for item in known if item})
    folded = {item.casefold(): item for item in reversed(candidates)}
    found = difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=0.6)
    return tuple(folded[item] for item in found)


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """``nearest: a, b`` for an error text, or an empty string when nothing is close."""
    names = nearest(name, known)
    return f"nearest: {', '.join(names)}" if names else ""


def error_text(error: BaseException, limit: int = 2000) -> str:
    """Type and text of an exception of others, which may be of any length, or raise when it is shown."""
    name = type(error).__name__
    try:
        text = str(error)[:limit]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"{name} (its text can't be shown)"
    return f"{name}: {text}" if text else name


def _lines(text: str, hint: str) -> str:
    return f"{text}\n  {hint}" if hint else text


class DeepAgentsError(Exception):
    """The root of every error raised by the kernel and its built-in plugins."""


class PluginError(DeepAgentsError):
    """A plugin can't be used: unknown, malformed, or refused by the hook specifications.

    Attributes:
        plugin: registered name of the plugin.
        reason: what is wrong with it.
        hint: the way out, or an empty string.
    """

    def __init__(self, plugin: str, reason: str, hint: str = "") -> None:
        self.plugin = plugin
        self.reason = reason
        self.hint = hint
        text = f"plugin {plugin!r}: {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class PluginRuleError(PluginError):
    """A rule about which plugins are in can't be followed: unknown name, contradiction, required and off.

    Attributes:
        source: where the rule was written.
    """

    def __init__(self, plugin: str, source: str, reason: str, hint: str = "") -> None:
        DeepAgentsError.__init__(self, _lines(f"{reason} (from {source})", hint))
        self.plugin = plugin
        self.reason = reason
        self.hint = hint
        self.source = source


class PluginSetError(PluginError):
    """Which plugins are in can't be settled: several are unknown, contradict each other or are missing.

    Attributes:
        errors: what is wrong, one by one.
    """

    def __init__(self, errors: Sequence[DeepAgentsError]) -> None:
        self.errors = tuple(errors)
        numbered = [f"  {number}. {error}" for number, error in enumerate(self.errors, 1)]
        text = "\n".join([f"{len(self.errors)} problems with plugins", *numbered])
        DeepAgentsError.__init__(self, text)
        self.plugin = ", ".join(dict.fromkeys(getattr(error, "plugin", "") for error in self.errors))
        self.reason = text
        self.hint = ""


class PluginFailedError(PluginError):
    """An installed plugin failed where failures are errors: it is required, or ``strict`` is set.

    Attributes:
        origin: the distribution that it comes from, with its version.
        source: what makes the failure an error.
    """

    def __init__(self, plugin: str, origin: str, reason: str, source: str, hint: str = "") -> None:
        self.origin = origin
        self.source = source
        super().__init__(plugin, f"{reason}\n  from {origin}; an error because of {source}", hint)


class HookError(PluginError):
    """A plugin's hook implementation raised, or returned something that the hook can't take.

    Attributes:
        hook: name of the hook.
        stack: path of the stack being planned, or an empty string outside planning.
    """

    def __init__(self, plugin: str, hook: str, stack: str, reason: str) -> None:
        self.hook = hook
        self.stack = stack
        where = f"hook {hook}, stack {stack!r}" if stack else f"hook {hook}"
        super().__init__(plugin, f"{where}: {reason}")


class SettingsError(DeepAgentsError, ValueError):
    """A setting is unknown or has a bad value.

    Attributes:
        key: full path of the setting, such as ``middleware.filesystem.grep_max_count``.
        source: where the value came from.
        reason: what is wrong.
        hint: the way out, or an empty string.
    """

    def __init__(self, key: str, source: str, reason: str, hint: str = "") -> None:
        self.key = key
        self.source = source
        self.reason = reason
        self.hint = hint
        text = f"setting {key!r} (from {source}): {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class BackendSpecError(DeepAgentsError, ValueError):
    """A backend string or table can't be turned into a backend.

    Attributes:
        spec: the text as the user wrote it.
        reason: what is wrong.
        hint: the way out, or an empty string.
    """

    def __init__(self, spec: str, reason: str, hint: str = "") -> None:
        self.spec = spec
        self.reason = reason
        self.hint = hint
        text = f"backend {spec!r}: {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class ModelSpecError(DeepAgentsError, ValueError):
    """A model string can't be turned into a chat model.

    Attributes:
        spec: the text as the user wrote it.
        reason: what is wrong.
        hint: the way out, or an empty string.
    """

    def __init__(self, spec: str, reason: str, hint: str = "") -> None:
        self.spec = spec
        self.reason = reason
        self.hint = hint
        text = f"model {spec!r}: {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class ModelPackageError(ModelSpecError, ImportError):
    """The package that serves a model is not installed; the hint names the install command."""


class ModelTypeError(ModelSpecError, TypeError):
    """The object given as a model is neither a string nor a chat model."""


class ProfileError(DeepAgentsError, ValueError):
    """A profile, or the key it is registered under, is malformed."""


class ProfileTypeError(ProfileError, TypeError):
    """A field of a profile has the wrong type."""


@frozen
class Problem:
    """One thing that is wrong, or doubtful, with a plan.

    Attributes:
        text: what is wrong, in one sentence.
        stack: path of the stack, such as ``main/researcher``; empty when it is about the whole plan.
        entry: name of the middleware concerned, if any.
        plugin: the plugin that is responsible, if any.
        hint: the way out.
        severity: ``"error"`` stops the plan, ``"warning"`` is reported and kept on it.
        error: the subclass of :class:`PlanError` to raise when every error of the plan names the same one.
        cause: the exception behind the problem, chained to the error that is raised.
    """

    text: str
    stack: str = ""
    entry: str = ""
    plugin: str = ""
    hint: str = ""
    severity: Literal["error", "warning"] = "error"
    error: type[PlanError] | None = field(default=None, eq=False)
    cause: BaseException | None = field(default=None, eq=False)

    def at(self, stack: str, plugin: str = "") -> Problem:
        """The same problem with its place filled in where it was left open."""
        return evolve(self, stack=self.stack or stack, plugin=self.plugin or plugin)

    def describe(self) -> str:
        """The problem as the lines of a report, without a number in front."""
        where = [
            part
            for part in (self.stack and f"stack {self.stack}", self.plugin and f"plugin {self.plugin}")
            if part
        ]
        head = f"[{', '.join(where)}] {self.text}" if where else self.text
        return f"{head}\n     {self.hint}" if self.hint else head


class PlanError(DeepAgentsError, ValueError):
    """A plan can't be made; carries every problem found, not only the first.

    Attributes:
        problems: the problems, in the order in which they were found.
    """

    def __init__(self, problems: Sequence[Problem] | Problem) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        count = len(self.problems)
        head = "1 problem in the plan" if count == 1 else f"{count} problems in the plan"
        lines = [f"  {number}. {problem.describe()}" for number, problem in enumerate(self.problems, 1)]
        super().__init__("\n".join([head, *lines]))

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> PlanError:
        """The most telling subclass for *problems*: theirs if they agree on one, else ``PlanError``."""
        kinds = {problem.error for problem in problems}
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        error = (kind or cls)(problems)
        error.__cause__ = next((problem.cause for problem in problems if problem.cause is not None), None)
        return error


class DuplicateMiddlewareError(PlanError, AssertionError):
    """Two middleware of one stack have the same name."""


class PlanTypeError(PlanError, TypeError):
    """An argument or a field of a sub-agent spec has the wrong type."""


class PlanKeyError(PlanError, KeyError):
    """A sub-agent spec lacks a key that it must have."""

    # KeyError shows the repr of its argument, which would print the report as one escaped line.
    __str__ = Exception.__str__


class UnsupportedPlanError(PlanError, NotImplementedError):
    """A combination that would look protected or complete and would not be."""


class MissingExportError(DeepAgentsError, AttributeError):
    """A name that a door doesn't have.

    Attributes:
        module: the door.
        name: the name that was asked for.
        plugin: the plugin that would bring it, or an empty string when none is known.
    """

    def __init__(self, module: str, name: str, plugin: str = "", hint: str = "") -> None:
        text = f"module {module!r} has no attribute {name!r}"
        if plugin:
            hint = f"it comes with the plugin {plugin!r}, which is not part of this installation"
        super().__init__(f"{text}\n  {hint}" if hint else text)
        self.module = module
        self.name = name
        self.plugin = plugin


class BrokenExportError(DeepAgentsError, ImportError):
    """A name is in the table of a door, and what it points to can't be had.

    Attributes:
        module: the door.
        export: the name that was asked for.
        target: ``"module:attribute"`` as the table has it.
    """

    def __init__(self, module: str, export: str, target: str, reason: str) -> None:
        super().__init__(f"{module}.{export} should be {target}: {reason}")
        self.module = module
        self.export = export
        self.target = target


class PlanWarning(UserWarning):
    """A doubtful but usable part of a plan: a misspelt key, a tool name that matches nothing."""


class PluginWarning(UserWarning):
    """An installed plugin was left out, because it failed or does not fit; the others are there."""
