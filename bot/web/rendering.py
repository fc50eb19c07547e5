"""Fills templates. Whatever comes from elsewhere is escaped."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from bot.web.page_words import EXAMPLES, TEXTS
from bot.web.visitor import visitor_of
from bot.words import LANGUAGES

STATIC = Path(str(files("bot.web") / "static"))
_NAMES = {"en": "English", "es": "Español"}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bot.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = max(int(path.stat().st_mtime) for path in STATIC.iterdir())
    return environment


def render(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page in the visitor's language."""
    visitor = visitor_of(request)
    words = visitor.words

    def text(name: str) -> str:
        return words.say(TEXTS[name])

    html = (
        _environment()
        .get_template(template)
        .render(
            t=text,
            say=words.say,
            number=words.number,
            language=words.language,
            languages=[(code, _NAMES[code]) for code in LANGUAGES],
            visitor=visitor,
            link=visitor.link,
            examples=[words.say(example) for example in EXAMPLES],
            origin=str(request.base_url).rstrip("/"),
            **values,
        )
    )
    return HTMLResponse(
        html,
        status,
        {"Vary": "Accept-Language", "Content-Language": words.language,
         "Cache-Control": "private, no-cache"},
    )  # fmt: skip
