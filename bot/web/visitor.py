"""Who looks at the page: the language, and links that keep it."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request

from bot.words import DEFAULT, LANGUAGES, Words, words_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """`chosen` is the language that the address names, if it does."""

    words: Words
    chosen: str | None
    path: str
    query: tuple[tuple[str, str], ...]

    def link(self, path: str, **values: object) -> str:
        """Return a link within the page that keeps the chosen language."""
        given = {name: str(value) for name, value in values.items() if value not in (None, "")}
        if self.chosen:
            given.setdefault("lang", self.chosen)
        return f"{path}?{urlencode(given)}" if given else path

    def in_language(self, language: str) -> str:
        """Return a link to the same page in another language."""
        kept = [pair for pair in self.query if pair[0] != "lang"]
        return f"{self.path}?{urlencode([*kept, ('lang', language)])}"


def visitor_of(request: Request) -> Visitor:
    """Read the language from the address, else from what the browser says."""
    asked = request.query_params.get("lang", "")
    chosen = asked if asked in LANGUAGES else None
    language = chosen or preferred(request.headers.get("accept-language", ""))
    return Visitor(
        words=words_for(language),
        chosen=chosen,
        path=request.url.path,
        query=tuple(request.query_params.multi_items()),
    )


def preferred(header: str) -> str:
    """Return the language of LANGUAGES that an Accept-Language header likes best."""
    liked: list[tuple[float, str]] = []
    for part in header[:1000].split(","):
        tag, _, weight = part.strip().partition(";q=")
        code = tag.strip().split("-")[0].lower()
        if code in LANGUAGES:
            liked.append((_weight(weight), code))
    best = max(liked, key=lambda pair: pair[0], default=(0.0, DEFAULT))
    return best[1] if best[0] > 0 else DEFAULT


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
