"""Tolerant parser for a model's answer to a question. Pure.

The expected answer is `{"claims": [{"text": "...", "sources": [1, 3]}]}`. Fences, prose and
thinking around it are skipped. If it is cut off, its complete claims are used. If it is not JSON,
it is read as text whose sentences have marks like [1].
"""

import re
from collections import Counter
from collections.abc import Iterator

from engine.answer.citations import cited, known
from engine.answer.types import Claim
from engine.llm.ask_and_repair import objects
from engine.text.plain import without_links, without_markup
from engine.text.sentences import sentences

_LONGEST = 64_000  # characters
_LONGEST_CLAIM = 1000
_MOST_CLAIMS = 20
_SAYS_NOT = re.compile(
    r"\b(?:sources?|passages?|texts?|fuentes?|pasajes?|textos?)\b.{0,40}\b(?:"
    r"(?:do|does|did)(?: not|n['’]t)|no)\b.{0,20}\b(?:say|mention|contain|answer|tell|provide|"
    r"address|state|dicen?|mencionan?|contienen?|responden?|indican?)",
    re.IGNORECASE,
)


def read_claims(content: str, given: int, damage: Counter[str]) -> tuple[Claim, ...] | None:
    """Return the claims of an answer about the passages 1..`given`, cleaned.

    Empty if the model says that the passages do not answer the question; None if `content` is not
    usable. Faults are counted in `damage` by kind. Never raises.
    """
    text = content[:_LONGEST].rpartition("</think>")[2].partition("<think>")[0]
    entries = _entries(text)
    if entries is not None:
        found = [_claim(one, sources, given, damage) for one, sources in entries]
    elif "{" in text:  # unreadable JSON must not be shown as text
        return None
    else:
        damage["prose"] += 1
        found = list(_prose(text, given, damage))
    claims = tuple(one for one in found if one.text)[:_MOST_CLAIMS]
    if not any(one.passages for one in claims) and any(_SAYS_NOT.search(c.text) for c in claims):
        return ()
    return claims if claims or entries is not None else None


def _entries(text: str) -> list[tuple[str, list[int]]] | None:
    """Return texts and numbers of the last object with claims, or else of loose claims."""
    loose: list[object] = []
    whole: list[object] | None = None
    for one in objects(text):
        claims = one.get("claims")
        if isinstance(claims, list):
            whole = claims
        elif "text" in one and "sources" in one:
            loose.append(one)
    chosen = whole if whole is not None else loose or None
    return None if chosen is None else [e for one in chosen if (e := _entry(one))]


def _entry(one: object) -> tuple[str, list[int]] | None:
    if isinstance(one, str):
        return one, []
    if not isinstance(one, dict) or not isinstance(one.get("text"), str):
        return None
    sources = one.get("sources")
    listed = sources if isinstance(sources, list) else [sources]
    return one["text"], [number for each in listed if (number := _number(each)) is not None]


def _number(value: object) -> int | None:
    """Return a number given as a number or as text, or -1 if it is neither."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    digits = re.fullmatch(r"\W{0,3}(\d{1,4})\W{0,3}", value) if isinstance(value, str) else None
    return int(digits[1]) if digits else -1


def _claim(text: str, sources: list[int], given: int, damage: Counter[str]) -> Claim:
    listed = known(sources, given, damage)
    plain, marked = cited(without_markup(text[:_LONGEST_CLAIM]), given, damage)
    return Claim(text=without_links(plain), passages=tuple(dict.fromkeys((*listed, *marked))))


def _prose(text: str, given: int, damage: Counter[str]) -> Iterator[Claim]:
    for sentence in sentences(without_markup(text)):
        plain, numbers = cited(sentence, given, damage)
        yield Claim(text=without_links(plain), passages=numbers)
