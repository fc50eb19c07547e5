"""Templates of posts: what a chat writes in place of a post, in a small part of Jinja."""

from collections.abc import Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.replies.limits import cut
from bot.replies.post import NAMES
from engine.errors import UsageError
from engine.messages import Message

LONGEST_TEMPLATE = 500  # characters
LONGEST_RENDERED = 1200  # of one tweet and its headline

_FILTERS = ("default", "lower", "title", "trim", "truncate", "upper")
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.If),
    *(nodes.Filter, nodes.Keyword, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Compare, nodes.Operand),
)
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
_ENVIRONMENT.globals.clear()
_ENVIRONMENT.tests.clear()
_ENVIRONMENT.filters = {name: _ENVIRONMENT.filters[name] for name in _FILTERS}


def require_template(text: str) -> None:
    """Raise UsageError if `text` is no template that can be used."""
    if len(text) > LONGEST_TEMPLATE:
        raise UsageError(
            Message("A template has at most {maximum} letters.", maximum=LONGEST_TEMPLATE)
        )
    _require_allowed(text)
    fill_template(text, dict.fromkeys(NAMES, "x"))


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the filled-in template, cut to its longest. Raises UsageError."""
    try:
        rendered = _compile_template(template).render(
            {name: cut(value, LONGEST_RENDERED) for name, value in values.items()}
        )
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as exc:
        raise _map_template_error(exc) from exc
    return cut(rendered.strip(), LONGEST_RENDERED)


@lru_cache(maxsize=64)
def _compile_template(template: str) -> Template:
    _require_allowed(template)
    return _ENVIRONMENT.from_string(template)


def _require_allowed(template: str) -> None:
    try:
        parsed = _ENVIRONMENT.parse(template)
    except (TemplateError, RecursionError) as exc:
        raise _map_template_error(exc) from exc
    for node in parsed.find_all(nodes.Node):
        if isinstance(node, nodes.Name) and node.name not in NAMES:
            raise UsageError(
                Message(
                    "A template knows no {name}. There are: {known}.",
                    name=cut(node.name, 40),
                    known=", ".join(NAMES),
                )
            )
        if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
            raise UsageError(
                Message(
                    "A template knows no filter {name}. There are: {known}.",
                    name=cut(node.name, 40),
                    known=", ".join(_FILTERS),
                )
            )
        if not isinstance(node, _ALLOWED):
            raise UsageError(
                Message("A template has names in double braces, if and else, and nothing more.")
            )


def _map_template_error(error: Exception) -> UsageError:
    return UsageError(
        Message("The template cannot be used: {reason}", reason=cut(str(error) or "?", 200))
    )
