"""What a listing shows of a value."""

from __future__ import annotations

import pytest
from attrs import field, frozen

from deepagents_kernel.config.secrets import REDACTED, is_secret, shown


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "api_key",
        "apiKey",
        "API-KEY",
        "OPENAI_API_KEY",
        "api_keys",
        "access_token",
        "secret",
        "secrets",
        "db_password",
        "passphrase",
        "credential",
        "aws_credentials",
        "Proxy-Authorization",
        "backend.s3.api_key",
        "key2",
        "token_",
        "api%5Fkey",
        "api_ke%79",
    ],
)
def test_names_of_secrets(name):
    assert is_secret(name)
    assert shown(name, "value") == REDACTED
    assert shown(name, 7) == REDACTED
    assert shown(name, ["a"]) == REDACTED
    assert shown(name, {"a": "b"}) == REDACTED
    assert shown("setting", "value", expanded=("HOME", name)) == REDACTED
    assert shown("setting", f"s3:bucket?{name}=value&a=b") == f"s3:bucket?{name}={REDACTED}&a=b"


@pytest.mark.parametrize(
    "name",
    ["tool_token_limit_before_evict", "max_tokens", "keyboard", "keep", "secretary", "author", "x", "", "1"],
)
def test_names_of_other_things(name):
    assert not is_secret(name)
    assert shown(name, "value", expanded=("HOME",)) == "value"
    assert shown(name, 7) == 7


@pytest.mark.parametrize("value", [None, True, False, ""])
def test_that_a_secret_is_not_set_may_be_seen(value):
    assert shown("api_key", value) == value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("https://user:pw@host/path", f"https://{REDACTED}@host/path"),
        ("https://user@host", f"https://{REDACTED}@host"),
        ("postgres+psycopg://u:p@ss@host:5432/db", f"postgres+psycopg://{REDACTED}@host:5432/db"),
        ("postgres://u:p/w@host/db", f"postgres://{REDACTED}@host/db"),
        ("postgres://u:p?w#x@host/db", f"postgres://{REDACTED}@host/db"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/a@b:c", "https://host/a@b:c"),
        ("see https://a:b@c and http://d:e@f", f"see https://{REDACTED}@c and http://{REDACTED}@f"),
        ("mail@host", "mail@host"),
        ("https://h/?a=1&token=x y&b=2", f"https://h/?a=1&token={REDACTED}&b=2"),
        ("https://h/?token=x&api_key=y", f"https://h/?token={REDACTED}&api_key={REDACTED}"),
        ("https://h/#access_token=x", f"https://h/#access_token={REDACTED}"),
        ("https://h/?token=a?key=b", f"https://h/?token={REDACTED}"),
        ("s3:bucket?region=eu&secret_key=x", f"s3:bucket?region=eu&secret_key={REDACTED}"),
        ("s3:bucket?token_limit=5&max_tokens=6", "s3:bucket?token_limit=5&max_tokens=6"),
        ("host=h password=x dbname=y", f"host=h password={REDACTED}"),
        ("filesystem:./work", "filesystem:./work"),
    ],
)
def test_secrets_within_texts(text, result):
    assert shown("url", text) == result
    assert shown("urls", [text]) == [result]


@frozen
class Inner:
    api_key: str = "x"


@frozen
class Settings:
    url: str = "s3:a?token=b"
    inner: Inner = Inner()
    _password: str = field(default="p")


def test_secrets_within_tables_lists_and_settings_objects():
    value = {
        "headers": {"Authorization": "Bearer x", "Accept": "y"},
        "list": [{"token": "z"}, ("a",)],
        "n": 1,
    }
    assert shown("options", value) == {
        "headers": {"Authorization": REDACTED, "Accept": "y"},
        "list": [{"token": REDACTED}, ["a"]],
        "n": 1,
    }
    assert shown("x", Settings()) == {
        "url": f"s3:a?token={REDACTED}",
        "inner": {"api_key": REDACTED},
        "password": REDACTED,
    }
    assert value["headers"]["Authorization"] == "Bearer x"
