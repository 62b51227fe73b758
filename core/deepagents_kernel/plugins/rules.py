"""Which plugins are on, by whom, and why: the rule of enable, disable, allow and required.

Sources speak in turn, the outermost first, and the last word counts. Three things differ from a plain "last
one wins": of ``enable`` lists only that of the innermost source that has one is heard; within one source a
plain name overrules a wildcard or a distribution, and two equal ones that disagree are an error; and what
guards a host (``allow``, ``required``) holds whatever an inner source says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

from deepagents_kernel.errors import PluginRuleError
from deepagents_kernel.plugins.selectors import is_wild, select

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepagents_kernel.config.source import Configuration, Source
    from deepagents_kernel.errors import DeepAgentsError
    from deepagents_kernel.plugins.selectors import Candidate

# Values of this module are on the path of every listing and are compared by nobody: without the methods for
# that, and for showing them, attrs makes a class in a third of the time.

Word = Literal["on", "off", "blocked"]
SCAFFOLDING_HINT = "replace its middleware by name or with replaces=; hide its tools with excluded_tools"


@frozen(eq=False, repr=False)
class Step:
    """One word that was said about a plugin.

    Attributes:
        word: what it says.
        where: who says it.
        text: the rule, as written.
    """

    word: Word
    where: str
    text: str


@frozen(eq=False, repr=False)
class Decision:
    """Whether a plugin is on.

    Attributes:
        on: whether it is.
        why: who decided; empty when nobody named the plugin and the default holds.
        steps: everything that was said, in order; the last word counts, ``blocked`` whenever it is said.
        required: where it is required; empty if it isn't.
        skipped: a rule that was passed over because the plugin is scaffolding.
    """

    on: bool
    why: str = ""
    steps: tuple[Step, ...] = ()
    required: str = ""
    skipped: str = ""

    @property
    def blocked(self) -> bool:
        """Whether a closed list leaves it out."""
        return any(step.word == "blocked" for step in self.steps)


@frozen(eq=False, repr=False)
class Rules:
    """The outcome for every plugin, and what is wrong with the rules.

    Attributes:
        decisions: one for each candidate, in their order.
        problems: unknown names, contradictions, scaffolding switched off.
        unmatched: rules that match nothing and need not: ``(text, where)``.
        autoload: whether installed plugins are on without being named, and who said so.
        strict: where ``strict`` is set; empty if it isn't.
    """

    decisions: tuple[Decision, ...]
    problems: tuple[DeepAgentsError, ...] = ()
    unmatched: tuple[tuple[str, str], ...] = ()
    autoload: tuple[bool, str] = (True, "")
    strict: str = ""


@frozen(eq=False, repr=False)
class Default:
    """What holds for a plugin that nobody names.

    Attributes:
        on: whether it is on.
        installed: whether it comes from an installed distribution, so that ``autoload`` is about it.
        exempt: whether ``allow`` is not about it: an object that the program itself passed in.
    """

    on: bool
    installed: bool
    exempt: bool = False


@frozen(eq=False, repr=False)
class _Said:
    on: bool
    wide: bool
    where: str
    text: str


@frozen(eq=False, repr=False)
class _Reader:
    """Turns the names of the sources into positions, and notes those that lead nowhere."""

    candidates: Sequence[Candidate]
    problems: list[DeepAgentsError] = field(factory=list)
    unmatched: list[tuple[str, str]] = field(factory=list)

    def read(
        self, selector: str, where: str, candidates: Sequence[Candidate] | None = None, *, known: bool = True
    ) -> tuple[tuple[int, ...], bool]:
        selection = select(selector, self.candidates if candidates is None else candidates)
        if not selection.found:
            if known and not is_wild(selector):
                self.problems.append(PluginRuleError(selector, where, selection.reason, selection.hint))
            else:
                self.unmatched.append((selector, where))
        return selection.found, selection.wide


def apply_rules(
    configuration: Configuration,
    candidates: Sequence[Candidate],
    defaults: Sequence[Default],
    *,
    guarded: Sequence[Candidate],
) -> Rules:
    """Decide for each plugin whether it is on.

    Args:
        configuration: what was said, outermost source first.
        candidates: every plugin that is known.
        defaults: what holds for each of them otherwise.
        guarded: the same candidates as ``allow`` and ``required`` see them, in which the kernel's own
            distribution stands for its plugins.
    """
    reader = _Reader(candidates)
    autoload = _last_flag(configuration, "autoload") or (True, "")
    heard = _enabling_source(configuration)
    spoken = [_spoken(reader, source, heard) for source in configuration.sources]
    allowed = [list(_guard(reader, source, "allow", guarded)) for source in _having(configuration, "allow")]
    allow_where = [source.where("plugins", "allow") for source in _having(configuration, "allow")]
    required = _required(reader, configuration, guarded, defaults)
    decisions = []
    for position, (candidate, default) in enumerate(zip(candidates, defaults, strict=True)):
        steps, skipped, problems = _steps(candidate, [said.get(position, []) for said in spoken])
        reader.problems.extend(problems)
        if not default.exempt:
            steps += [
                Step("blocked", where, "allow")
                for where, found in zip(allow_where, allowed, strict=True)
                if position not in found
            ]
        decisions.append(_decision(default, autoload, steps, required.get(position, ""), skipped))
    strict = _last_flag(configuration, "strict") or (False, "")
    return Rules(
        tuple(decisions),
        tuple(reader.problems),
        tuple(reader.unmatched),
        autoload,
        strict[1] if strict[0] else "",
    )


def _last_flag(configuration: Configuration, name: str) -> tuple[bool, str] | None:
    for source in reversed(configuration.sources):
        value = getattr(source.switches, name)
        if value is not None:
            return value, source.where("plugins", name)
    return None


def _having(configuration: Configuration, name: str) -> list[Source]:
    return [source for source in configuration.sources if getattr(source.switches, name) is not None]


def _enabling_source(configuration: Configuration) -> Source | None:
    found = _having(configuration, "enable")
    return found[-1] if found else None


def _spoken(reader: _Reader, source: Source, heard: Source | None) -> dict[int, list[_Said]]:
    """What a source says, by position; single switches of a command line last, in order."""
    result: dict[int, list[_Said]] = {}
    for text, on, ordered in _words(source, heard):
        where = source.where("plugins", "enable" if on else "disable", text)
        found, wide = reader.read(text, where)
        for position in found:
            said = _Said(on, wide, where, text)
            result[position] = [said] if ordered else [*result.get(position, []), said]
    return result


def _words(source: Source, heard: Source | None) -> Iterator[tuple[str, bool, bool]]:
    switches = source.switches
    if source is heard:
        for text in switches.enable or ():
            yield text, True, False
    for text in switches.disable or ():
        yield text, False, False
    for text, on in switches.single:
        yield text, on, True


def _steps(
    candidate: Candidate, spoken: Sequence[Sequence[_Said]]
) -> tuple[list[Step], str, list[DeepAgentsError]]:
    steps: list[Step] = []
    problems: list[DeepAgentsError] = []
    skipped = ""
    for said in spoken:
        plain = [item for item in said if not item.wide]
        for item in _winners(candidate, plain or said, problems):
            if item.on or not candidate.scaffolding:
                steps.append(Step("on" if item.on else "off", item.where, item.text))
            elif item.wide:
                skipped = f"{item.text!r} ({item.where}) passes over it: it is scaffolding"
            else:
                reason = f"{candidate.name} is scaffolding, which can be replaced and not switched off"
                problems.append(PluginRuleError(candidate.name, item.where, reason, SCAFFOLDING_HINT))
    return steps, skipped, problems


def _winners(candidate: Candidate, said: Sequence[_Said], problems: list[DeepAgentsError]) -> Sequence[_Said]:
    on = next((item for item in said if item.on), None)
    off = next((item for item in said if not item.on), None)
    if on is None or off is None:
        return said[:1]
    reason = f"{candidate.name} is enabled by {on.text!r} and disabled by {off.text!r}"
    where = on.where if on.where == off.where else f"{on.where}, {off.where}"
    hint = "keep one of them, or name the plugin itself in one"
    problems.append(PluginRuleError(candidate.name, where, reason, hint))
    return ()


def _guard(reader: _Reader, source: Source, name: str, guarded: Sequence[Candidate]) -> Iterator[int]:
    for text in getattr(source.switches, name):
        # A list of what may come names things that need not be here.
        found, _ = reader.read(text, source.where("plugins", name, text), guarded, known=False)
        yield from found


def _required(
    reader: _Reader,
    configuration: Configuration,
    guarded: Sequence[Candidate],
    defaults: Sequence[Default],
) -> dict[int, str]:
    result: dict[int, str] = {}
    for source in _having(configuration, "required"):
        for text in source.switches.required or ():
            where = source.where("plugins", "required", text)
            selection = select(text, guarded)
            if not selection.found:
                reason = selection.reason or f"{text!r} matches no plugin"
                reader.problems.append(
                    PluginRuleError(text, where, f"{reason}, and it is required", selection.hint)
                )
            for position in selection.found:
                # What is off by default is not meant by whoever names a whole package.
                if not selection.wide or defaults[position].on:
                    result.setdefault(position, where)
    return result


def _decision(
    default: Default, autoload: tuple[bool, str], steps: Sequence[Step], required: str, skipped: str
) -> Decision:
    words = [step for step in steps if step.word != "blocked"]
    blocked = [step for step in steps if step.word == "blocked"]
    on = default.on and (autoload[0] or not default.installed)
    why = autoload[1] if default.on and not on else ""
    if words:
        on, why = words[-1].word == "on", words[-1].where
    if blocked:
        on, why = False, blocked[0].where
    return Decision(on, why, tuple(steps), required, skipped)
