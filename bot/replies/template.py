"""Templates for the text of posts: Jinja, limited to what cannot run long or reach anything.

A template names facts of one tweet and its headline; a post repeats it for each of them. There are
no loops, calls, arithmetic, attributes or assignments, so its cost is bounded by its length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.face.reply import HitView, ItemView, Reply
from bot.replies.limits import cut
from engine.errors import UsageError
from engine.messages import Message

LONGEST_TEMPLATE = 500  # characters
LONGEST_POST = 3500  # Telegram shows 4,096
LONGEST_RENDERED = 1200  # of one tweet and its headline
NAMES = ("headline", "link", "source", "tweet", "author", "date", "age", "url", "reason", "number")

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


TEMPLATE_EXAMPLE = ItemView(
    headline="Ship blocks Suez Canal",
    link="https://www.bbc.co.uk/news/1",
    hit=HitView(
        rank=1,
        text="One day a boat will get stuck sideways.",
        author="ana",
        date=datetime(2012, 3, 14, tzinfo=UTC),
        date_text="14/3/2012",
        age="9",
        url="https://x.com/ana/status/1",
        flags=(),
    ),
)


def require_template(text: str) -> None:
    """Raise UsageError if `text` is no template that can be used."""
    if len(text) > LONGEST_TEMPLATE:
        raise UsageError(Message("A template has at most {most} letters.", most=LONGEST_TEMPLATE))
    _require_allowed(text)
    fill_template(text, dict.fromkeys(NAMES, "x"))


def worded(reply: Reply, template: str | None, sources: Sequence[str]) -> Reply:
    """Return a post with the text that the template gives it, or as it is without one.

    `sources` names the feed of each item. Raises UsageError.
    """
    if template is None or not reply.items:
        return reply
    named = zip(reply.items, sources, strict=True)
    text = "\n\n".join(item_text(template, item, source) for item, source in named)
    return replace(reply, text=cut(text, LONGEST_POST), items=(), notice=None)


def item_text(template: str, item: ItemView, source: str) -> str:
    """Return what a template says about one item of a post. Raises UsageError."""
    hit = item.hit
    return fill_template(
        template,
        {
            "headline": item.headline,
            "link": item.link or "",
            "source": source,
            "tweet": hit.text,
            "author": hit.signature or "",
            "date": hit.date_text,
            "age": hit.age,
            "url": hit.url or "",
            "reason": hit.why or "",
            "number": str(hit.rank),
        },
    )


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the filled-in template, cut to its longest. Raises UsageError."""
    try:
        said = _compiled(template).render(
            {name: cut(value, LONGEST_RENDERED) for name, value in values.items()}
        )
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as exc:
        raise _unusable(exc) from exc
    return cut(said.strip(), LONGEST_RENDERED)


@lru_cache(maxsize=64)
def _compiled(template: str) -> Template:
    _require_allowed(template)
    return _ENVIRONMENT.from_string(template)


def _require_allowed(template: str) -> None:
    try:
        parsed = _ENVIRONMENT.parse(template)
    except (TemplateError, RecursionError) as exc:
        raise _unusable(exc) from exc
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


def _unusable(error: Exception) -> UsageError:
    return UsageError(
        Message("The template cannot be used: {said}", said=cut(str(error) or "?", 200))
    )
