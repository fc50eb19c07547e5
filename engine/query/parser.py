"""The parser of the query dialect. Any text is a query; engine.query.query has the values."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.messages import Message
from engine.query.filters import KINDS, SPANISH_NAMES, THERE_ARE, read_filter
from engine.query.query import Alternative, Filter, Group, Phrase, Query, Unit, Word
from engine.text.clean import make_storable

# Longer queries are cut, and a notice says what was left out.
MAX_PARTS = 64
LONGEST_PART = 500  # characters of a word, a phrase or the value of a filter
LONGEST_NAME = 100  # characters of #tag and @mention
LONGEST = 50_000  # characters; no canonical form of MAX_PARTS is longer

_NAME = re.compile(r"(?!or:)([a-z]{1,20}):", re.IGNORECASE | re.ASCII)
# Quotes that phones substitute for straight ones.
_QUOTES = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"') | {"\0": " "}
)
_RUN = re.compile(r'[^\s"]*')
_SHORT_RUN = re.compile(rf'[^\s"]{{0,{LONGEST_NAME + 1}}}')
_SIGNS = "#@"
_TOO_LONG = Message("What is longer than {number} characters was left out.", number=LONGEST_PART)

_NOT = Message("NOT was read as a word. To leave out a word, write a minus before it: -word.")


@dataclass(frozen=True, slots=True)
class _Part:
    """A word or phrase, wanted or excluded, a filter, a notice, or (if none of these) an OR."""

    unit: Unit | None = None
    excluded: Unit | None = None
    filter: Filter | None = None
    notice: Message | None = None
    unknown: bool = False  # the notice is of a filter that there is not

    @property
    def is_or(self) -> bool:
        return not (self.counts or self.notice)

    @property
    def counts(self) -> bool:
        return bool(self.unit or self.excluded or self.filter)


def parse_query(text: str) -> Query:
    """Parse `text` as a query. Never raises, whatever the text."""
    parts: list[_Part] = []
    counted = 0
    reader = _Reader(make_storable(text[:LONGEST].translate(_QUOTES)))
    for part in reader.parts():
        counted += part.counts
        if counted > MAX_PARTS:
            notice = Message("Only the first {number} parts of the query count.", number=MAX_PARTS)
            parts.append(_Part(notice=notice))
            break
        parts.append(part)
    groups, dangling = _group_parts(parts)
    notices = [part.notice for part in parts if part.notice]
    unknown = [part.notice for part in parts if part.notice and part.unknown]
    if unknown:
        notices.insert(notices.index(unknown[-1]) + 1, THERE_ARE)
    if len(text) > LONGEST:
        notices.append(Message("Only the first {number} characters were read.", number=LONGEST))
    if dangling:
        notices.append(
            Message("An OR was left out: it joins words and phrases that are not excluded.")
        )
    return Query(
        groups=groups,
        excluded=tuple(dict.fromkeys(p.excluded for p in parts if p.excluded)),
        filters=tuple(dict.fromkeys(p.filter for p in parts if p.filter)),
        notices=tuple(dict.fromkeys(notices)),
    )


def _group_parts(parts: list[_Part]) -> tuple[tuple[Group, ...], bool]:
    """Return the parts grouped by their ORs, and whether an OR had nothing to join."""
    groups: list[list[Unit]] = []
    joining = dangling = open_ = False  # after an OR; some OR joined nothing; an OR may follow
    for part in parts:
        if part.is_or:
            dangling |= not open_ and not joining
            joining = open_ or joining
            open_ = False
        elif part.unit:
            if joining:
                groups[-1].append(part.unit)
            else:
                groups.append([part.unit])
            joining, open_ = False, True
        elif part.counts:
            dangling |= joining
            joining = open_ = False
    distinct = (tuple(dict.fromkeys(units)) for units in groups)
    folded = (Group(tuple(Alternative(unit) for unit in units)) for units in distinct)
    return tuple(dict.fromkeys(folded)), dangling or joining


class _Reader:
    """Scans a text from left to right in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> Iterator[_Part]:
        """Yield the parts of the text."""
        while self._skip_to(lambda here: here in '-"#@' or _is_word(here)):
            negated = self._skip_minus()
            if negated:
                self._skip_to(lambda here: here in '"#@' or here.isspace() or _is_word(here))
            yield from self._read_part(negated)

    def _read_part(self, negated: bool) -> Iterator[_Part]:
        while self._here in _SIGNS and self._here:
            if named := self._read_signed(negated):
                yield named
                return
            self._at += 1  # text like any other punctuation
        if self._here == '"':
            yield from self._read_phrase(negated)
        elif _is_word(self._here):
            yield from self._read_word(negated)

    @property
    def _here(self) -> str:
        return self._text[self._at : self._at + 1]

    @property
    def _before(self) -> str:
        return self._text[max(0, self._at - 1) : self._at]

    def _skip_to(self, wanted: Callable[[str], bool]) -> bool:
        """Advance to the next character that is `wanted`; return False if there is none."""
        while self._here and not wanted(self._here):
            self._at += 1
        return bool(self._here)

    def _skip_minus(self) -> bool:
        """Skip a minus; return whether it negates, as it does unless a word or quote ends there."""
        if self._here != "-":
            return False
        alone = not (_is_word(self._before) or self._before == '"')
        self._at += 1
        return alone

    def _read_quoted(self) -> str | None:
        """Return the text between the quote here and the next one, and advance past that."""
        end = self._text.find('"', self._at + 1)
        if end < 0:
            return None
        content = " ".join(self._text[self._at + 1 : end].split())
        self._at = end + 1
        return content

    def _read_phrase(self, negated: bool) -> Iterator[_Part]:
        content = None if _is_word(self._before) else self._read_quoted()
        if content is None:
            self._at += 1  # text like any other punctuation
        elif any(map(_is_word, content)):
            yield _build_unit_part(Phrase(content), negated)

    def _read_signed(self, negated: bool) -> _Part | None:
        """Read #tag or @mention; return None if the sign is followed by anything else."""
        if not _begins_name(self._text[self._at + 1 : self._at + 2]):
            return None
        match = _SHORT_RUN.match(self._text, self._at)
        run = match[0] if match else ""
        name, also = ("tag", "_") if self._here == "#" else ("mention", "_.-@")
        value = _trim_punctuation(run[1:]).casefold()
        if len(run) > LONGEST_NAME or not _is_name(value, also) or len(value) >= LONGEST_NAME:
            return None
        self._at += len(run)
        return _Part(filter=Filter(name, value, negated))

    def _read_word(self, negated: bool) -> Iterator[_Part]:
        match = _RUN.match(self._text, self._at)
        run = match[0] if match else ""
        self._at += len(run)
        named = _NAME.match(run)
        if named and (value := self._read_value(run[named.end() :])):
            yield from _build_filter_part(run, named[1], value, negated)
        elif negated:
            yield _build_unit_part(Word(_trim_punctuation(run)), negated)
        else:
            word = _trim_punctuation(run)
            if word == "OR":
                yield _Part()
            elif word != "AND":  # what AND says holds without it
                yield _build_unit_part(Word(word), negated=False)
            if word == "NOT":
                yield _Part(notice=_NOT)

    def _read_value(self, rest: str) -> str | None:
        """Return the value of a filter: the rest of its run, or the quoted text that follows."""
        if rest:
            return _trim_punctuation(rest)
        return self._read_quoted() if self._here == '"' else None


def _build_filter_part(run: str, name: str, value: str, negated: bool) -> Iterator[_Part]:
    kind = SPANISH_NAMES.get(name.lower(), name.lower())
    read = read_filter(kind, value, negated=negated)
    if isinstance(read, Filter):
        yield _Part(notice=_TOO_LONG) if len(read.value) > LONGEST_PART else _Part(filter=read)
        return
    if not value.startswith("//"):  # a web address
        yield _Part(notice=read, unknown=kind not in KINDS)
    if run.endswith(":"):
        yield _build_unit_part(Word(name), negated)
        if any(map(_is_word, value)):
            yield _build_unit_part(Phrase(value), negated)
    else:
        yield _build_unit_part(Word(_trim_punctuation(run)), negated)


def _build_unit_part(unit: Unit, negated: bool) -> _Part:
    if len(unit.text) > LONGEST_PART:
        return _Part(notice=_TOO_LONG)
    return _Part(excluded=unit) if negated else _Part(unit=unit)


def _is_word(character: str) -> bool:
    """Return whether a character (or "") is part of words, marks (vowels of some scripts) too."""
    if character.isalnum():
        return True
    return bool(character) and unicodedata.category(character).startswith("M")


def _begins_name(character: str) -> bool:
    """Return whether a character may be the first or last of an account's name."""
    return character == "_" or _is_word(character)


def _is_name(text: str, also: str) -> bool:
    """Return whether `text` is a tag or an account: at least one letter, only valid characters."""
    is_word = all(character in also or _is_word(character) for character in text)
    return is_word and any(map(str.isalpha, text))


def _trim_punctuation(text: str) -> str:
    """Return `text` without trailing punctuation."""
    end = len(text)
    while end and not _begins_name(text[end - 1]):
        end -= 1
    return text[:end]
