"""What plugins and distributions may be called, and how their names are compared."""

import re

#: ``kind.name``, lower case with hyphens, as entry points are named.
PLUGIN_NAME = re.compile(r"^(middleware|backend|provider|harness|model|bundle)\.[a-z0-9]+(-[a-z0-9]+)*$")

#: What to say about a name that is none.
BAD_NAME_HINT = (
    "write kind.name in lower case with hyphens, such as 'middleware.audit-log'; kinds: "
    "middleware, backend, provider, harness, model, bundle"
)


def distribution_key(name: str) -> str:
    """The name of a distribution as names are compared: lower case, hyphens, underscores and dots one hyphen.

    As ``packaging.utils.canonicalize_name`` has it (PEP 503), whose import a listing can't afford.
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
