"""Names as users write them: of a plugin, of a distribution, short, or with wildcards.

One place for all of them, so that a name that works in a file works in a variable and on the command line.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.errors import nearest
from deepagents_kernel.plugins.names import distribution_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WILD = re.compile(r"[*?\[]")
_RUNS = re.compile(r"[-_]+")
SEE = "see: deepagents-kernel plugins list"


@frozen(eq=False, repr=False)
class Candidate:
    """A plugin that a name may stand for.

    Attributes:
        name: its registered name.
        distribution: where it comes from; empty for an object given in code.
        entry_point: name of its entry point, where that is another one.
        scaffolding: whether it can be replaced and not switched off.
    """

    name: str
    distribution: str = ""
    entry_point: str = ""
    scaffolding: bool = False


@frozen(eq=False, repr=False)
class Selection:
    """What a name stands for.

    Attributes:
        found: positions in the candidates.
        wide: whether it is a wildcard or a distribution, which a plain name overrules.
        reason: why it stands for nothing; empty otherwise.
        hint: the way out, if it stands for nothing.
    """

    found: tuple[int, ...] = ()
    wide: bool = False
    reason: str = ""
    hint: str = ""


def normalised(name: str) -> str:
    """The name of a plugin as it is compared: lower case, every run of hyphens and underscores one hyphen."""
    return _RUNS.sub("-", name.strip().lower())


def short_name(name: str) -> str:
    """The part behind the kind."""
    return name.partition(".")[2]


def is_wild(selector: str) -> bool:
    """Whether a name has wildcards."""
    return _WILD.search(selector) is not None


def select(selector: str, candidates: Sequence[Candidate]) -> Selection:
    """What a name stands for.

    Looked for in this order: registered name, wildcards over all sorts of names, then short name,
    distribution and entry point, which must not disagree.

    Args:
        selector: as the user wrote it.
        candidates: every plugin that is known.
    """
    wanted = normalised(selector)
    exact = _positions(candidates, lambda item: item.name == wanted)
    if exact:
        return Selection(exact)
    if is_wild(wanted):
        return Selection(_positions(candidates, lambda item: _matches(item, wanted)), wide=True)
    plain = _positions(
        candidates, lambda item: wanted in (short_name(item.name), normalised(item.entry_point))
    )
    key = distribution_key(selector)
    package = _positions(candidates, lambda item: distribution_key(item.distribution) == key)
    named = sorted({candidates[position].name for position in plain})
    if len(named) > 1 or (plain and package and plain != package):
        listed = ", ".join(sorted({candidates[position].name for position in (*plain, *package)}))
        return Selection(reason=f"{selector!r} stands for several plugins", hint=f"write one of: {listed}")
    if plain:
        return Selection(plain)
    return Selection(package, wide=True) if package else _nothing(selector, candidates)


def _positions(candidates: Sequence[Candidate], test: Callable[[Candidate], bool]) -> tuple[int, ...]:
    return tuple(position for position, item in enumerate(candidates) if test(item))


def _matches(item: Candidate, pattern: str) -> bool:
    names = (item.name, short_name(item.name), distribution_key(item.distribution))
    return any(name and fnmatch.fnmatchcase(name, pattern) for name in names)


def _nothing(selector: str, candidates: Sequence[Candidate]) -> Selection:
    known = {item.name for item in candidates} | {item.distribution for item in candidates}
    found = nearest(selector, known) or _by_short_name(selector, candidates)
    near = f"nearest: {', '.join(found)}\n  " if found else ""
    return Selection(reason=f"no plugin named {selector!r}", hint=f"{near}{SEE}")


def _by_short_name(selector: str, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    shorts = {short_name(item.name): item.name for item in candidates}
    return tuple(shorts[short] for short in nearest(selector, shorts))
