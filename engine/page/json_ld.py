"""Articles described in JSON-LD (https://schema.org/Article), as sites really write it."""

import html
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_NODES = 2000
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
# Comment and CDATA marks around the JSON, from the days of XHTML.
_OPENINGS = ("<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA[")
_CLOSINGS = ("-->", "//]]>", "/*]]>*/", "]]>")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def articles(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the objects whose @type is an article or posting, in the order of the page.

    What cannot be read is passed over. Never raises.
    """
    return [
        node for text in texts for node in _nodes(_read(text)) if _is_article(node.get("@type"))
    ]


def texts_of(nodes: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    """Yield the text under `name`, or the first of several, node by node."""
    for node in nodes:
        value = node.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            yield value


def _read(text: str) -> object:
    bare = _unwrapped(text)
    for repair in (str, _without_trailing_commas, html.unescape):
        try:
            # Not strict: control characters inside texts are common.
            return json.loads(repair(bare), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _unwrapped(text: str) -> str:
    text = text.strip().lstrip("\ufeff")
    for opening, closing in zip(_OPENINGS, _CLOSINGS, strict=True):
        text = text.removeprefix(opening).removesuffix(closing).strip()
    return text


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(r"\1", text)


def _nodes(value: object) -> Iterator[Mapping[str, Any]]:
    """Walk over the objects that may describe the page, outer ones first."""
    waiting = deque([value])
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        one = waiting.popleft()
        if isinstance(one, dict):
            yield one
            waiting += [one[name] for name in _INNER if name in one]
        elif isinstance(one, list):
            waiting += one


def _is_article(kind: object) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(one, str) and one.endswith(("Article", "Posting")) for one in kinds)
