"""Extracts the few tags that describe a page.

An HTML parser builds a tree, and a hostile page makes that slow: 200 KB of nested <div> take lexbor
two seconds, and the time grows with the square of the length. This scan is linear, and its result
is small enough to be given to a parser.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_EXAMINED = 5000  # tags with the names below; real pages have some hundreds
_MOST_KEPT = 200
_LONGEST_TAG = 2000
_LONGEST_TEXT = 4000
_LONGEST_JSON = 300_000
_STEP = 50_000
_LONGEST_NAME = 20  # of those names, with "<" and the character that ends them

_NAME = re.compile(
    r"<(?:(!--)|(html|meta|title|h1|time|article|script|style|noscript|template|textarea|svg)"
    r"(?=[\s/>]))",
    re.IGNORECASE,
)
_REST_OF_TAG = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_TELLING_META = re.compile(
    r"title|date|publish|created|issued|site_name|application-name|locale", re.IGNORECASE
)
# Elements whose content is not markup of the page.
_OPAQUE = ("script", "style", "noscript", "template", "textarea", "svg")
_END = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in (*_OPAQUE, "title", "h1")
}
_COMMENT_END = re.compile("--!?>")


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """`markup`: whole <html>, <meta>, <title>, <time> (of articles) and <h1>, in that order.
    `json_ld`: the texts of the scripts of that type."""

    markup: str
    json_ld: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str  # lower case; "!--" for a comment, "" for a tag that does not end soon
    text: str  # the opening tag as written
    end: int  # where its content begins


def excerpt(html: str) -> PageExcerpt:
    """Extract the tags that give title, date, site and language in linear time. Never raises."""
    kept: dict[str, list[str]] = {name: [] for name in ("html", "meta", "title", "time", "h1")}
    json_ld: list[str] = []
    for tag, content in _elements(html):
        if tag.name == "script":
            if "ld+json" in tag.text.lower() and len(content) <= _LONGEST_JSON:
                json_ld.append(content)
        elif tag.name in ("title", "h1"):
            kept[tag.name].append(f"{tag.text}{content[:_LONGEST_TEXT]}</{tag.name}>")
        elif tag.name != "meta" or _TELLING_META.search(tag.text):
            kept[tag.name].append(tag.text)
    # <h1> comes last: truncated inside a tag, it would swallow what follows.
    most = {"html": 1, "meta": _MOST_KEPT, "title": 1, "time": 1, "h1": 3}
    markup = "".join("".join(kept[name][:count]) for name, count in most.items())
    return PageExcerpt(markup, tuple(json_ld))


def _elements(html: str) -> Iterator[tuple[_Tag, str]]:
    """Iterate over the relevant tags, each with its text content if that is asked for.

    <time> counts only after the first <article>.
    """
    unended: set[str] = set()  # names with no closing tag left: not searched for again
    in_article = False
    position = 0
    for _ in range(_MOST_EXAMINED):
        tag = _next_tag(html, position)
        if tag is None:
            return
        position = tag.end
        if tag.name == "article":
            in_article = True
            continue
        content = ""
        if pattern := _content_end(tag.name, unended):
            ended = pattern.search(html, tag.end)
            if ended is None:
                unended.add(tag.name)
            else:
                content, position = html[tag.end : ended.start()], ended.end()
        if _wanted(tag.name, in_article=in_article):
            yield tag, content


def _content_end(name: str, unended: set[str]) -> re.Pattern[str] | None:
    if name in unended:
        return None
    return _COMMENT_END if name == "!--" else _END.get(name)


def _wanted(name: str, *, in_article: bool) -> bool:
    return name in ("html", "meta", "title", "h1", "script") or (name == "time" and in_article)


def _next_tag(html: str, position: int) -> _Tag | None:
    """Return the first relevant tag at `position` or later."""
    found = _next_name(html, position)
    if found is None:
        return None
    if found[1]:
        return _Tag("!--", "", found.end())
    rest = _REST_OF_TAG.match(html, found.end(), found.end() + _LONGEST_TAG)
    if rest is None:
        return _Tag("", "", found.end())
    return _Tag(found[2].lower(), html[found.start() : rest.end()], rest.end())


def _next_name(html: str, position: int) -> re.Match[str] | None:
    """Search in steps: a search holds the interpreter's lock, and the event loop waits for it."""
    for start in range(position, len(html), _STEP):
        if found := _NAME.search(html, start, start + _STEP + _LONGEST_NAME):
            return found
    return None
