"""What a plugin may be called."""

import re

#: ``kind.name``, lower case with hyphens, as entry points are named.
PLUGIN_NAME = re.compile(r"^(middleware|backend|provider|harness|model|bundle)\.[a-z0-9]+(-[a-z0-9]+)*$")

#: What to say about a name that is none.
BAD_NAME_HINT = (
    "write kind.name in lower case with hyphens, such as 'middleware.audit-log'; kinds: "
    "middleware, backend, provider, harness, model, bundle"
)
