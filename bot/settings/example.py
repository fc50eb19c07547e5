"""Generates config.example.toml from the settings models."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from pydantic import SecretStr

from bot.settings.model import Secrets, Sections
from bot.settings.news import FeedSettings, WebhookSettings
from engine.settings.section import Section

_COPY = "Copy this file to config.toml, keep what you change."
_UNCOMMENT = "Take the # away from what you change."
_HEADER = """\
# All settings of Presagio with their defaults. {how}
#
# Looked for in this order: --config FILE, $PRESAGIO_CONFIG, config.toml in the working folder,
# config.toml in the user's configuration folder. An environment variable goes before the file:
# PRESAGIO_LLM__MODEL sets model in [llm]; numbers, true and lists are written as in this file.
#
# Secrets come from the environment, or from presagio.env beside this file, which presagio setup
# writes and only its owner may read:
{secrets}
# PRESAGIO_DATA_DIR names the folder of the embedded server.
"""
_KEY = re.compile(r"^\w+ = ", re.MULTILINE)
_EXAMPLES: Mapping[str, Sequence[Section]] = {
    "feeds": [
        FeedSettings(url="https://example.org/news.xml", category="news"),
        FeedSettings(url="https://example.org/tech.atom", category="tech"),
    ],
    "webhooks": [WebhookSettings(name="news", url="https://example.org/hooks/presagio")],
}


def example_toml() -> str:
    """Return the text of config.example.toml."""
    secrets = ", ".join([*(name.upper() for name in Secrets.model_fields), "DATABASE_URL"])
    blocks = [_HEADER.format(how=_COPY, secrets=_comment(f"{secrets}."))]
    for name, field in Sections.model_fields.items():
        defaults = field.get_default()
        if isinstance(defaults, Section):
            blocks.append("\n".join(_section(name, defaults)) + "\n")
        else:
            blocks.append("\n".join(_tables(name, _EXAMPLES[name])) + "\n")
    return "\n".join(blocks)


def starter_toml() -> str:
    """Return the text of a first config.toml: every key is there, and none of them is set.

    So defaults that a later version improves take effect.
    """
    return _KEY.sub(r"#\g<0>", example_toml().replace(_COPY, _UNCOMMENT))


def _tables(name: str, examples: Sequence[Section]) -> Iterator[str]:
    """Yield commented examples of a list of tables, which is empty by default."""
    model = type(examples[0])
    yield _comment(" ".join((model.__doc__ or "").split()))
    for key, field in model.model_fields.items():
        yield _comment(f"{key}: {field.description}")
    for example in examples:
        yield f"# [[{name}]]"
        for key, value in example:
            yield f"# {key} = {toml_value(value)}"


def _section(name: str, defaults: Section) -> Iterator[str]:
    yield _comment(" ".join((type(defaults).__doc__ or "").split()))
    yield f"[{name}]"
    for key, field in type(defaults).model_fields.items():
        yield _comment(field.description or "")
        yield f"{key} = {toml_value(field.get_default())}"


def _comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ")


def toml_value(value: object) -> str:
    """Return a default in TOML notation."""
    if isinstance(value, SecretStr):
        return toml_value(value.get_secret_value())
    if isinstance(value, tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return json.dumps(value)  # strings, numbers and booleans look the same in JSON and TOML
