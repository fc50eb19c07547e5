"""The words on a picture: texts from strangers, made safe to typeset."""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from engine.text.clean import clean_for_display

# Marks on one letter: languages need up to four, "zalgo" text has dozens.
MARKS_IN_A_ROW = 4

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Format characters that change how their neighbours look and cannot reorder them: the two joiners,
# the tags that spell regional flags, the signs of Arabic numbers.
_KEPT_FORMATS = {0x200C, 0x200D, 0x06DD, *range(0x0600, 0x0606), *range(0xE0020, 0xE0080)}
# Twitter's short links lead nowhere on a picture, and most of old tweets' lead nowhere at all.
_SHORT_LINK = re.compile(
    r"(?:https?://)?(?<![\w.])(?:t\.co|pic\.twitter\.com)/\w*…?", re.IGNORECASE
)
_LINK_START = re.compile("http", re.IGNORECASE)
_LEADING_MENTIONS = re.compile(r"(?:@\w{1,30}(?!['’\w])[\s,:;]*)+")
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn"}


class Shape(StrEnum):
    """What a picture is for."""

    LINK = "link"  # shown beside a link by those who preview it
    CHAT = "chat"  # posted by itself, and read on a phone held upright

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and the height in pixels."""
        return (1200, 630) if self is Shape.LINK else (1080, 1350)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A tweet as a reader sees it, and the headline that it foresaw, if any.

    Every text is plain and of any length, already in the reader's language; an empty one is left
    out of the picture.
    """

    headline: str = ""
    headline_source: str = ""  # "BBC News", "bbc.co.uk"
    headline_date: str = ""
    text: str  # the tweet, as written
    author: str = ""
    handle: str = ""  # with its @
    date_text: str = ""  # "14 de marzo de 2012"
    lead_time_text: str = ""  # "8 years, 9 months before"
    marks: tuple[str, ...] = ()  # "repost", "not judged"
    footer: str = ""
    avatar: bytes = b""  # PNG or JPEG
    shape: Shape = Shape.LINK
    cut_text: str = "…"  # the mark of a tweet that does not fit: "shortened"
    missing_text: str = ""  # what is said before the number of signs that no font has


def readable_tweet(text: str) -> str:
    """Return a tweet as people read it: no entities, no quoting of files, no short links.

    A tweet of nothing but short links keeps them.
    """
    text = clean_for_display(text).replace('"""', '"')
    rest = _SHORT_LINK.sub("", _remove_cut_link(text))
    return rest if any(map(str.isalnum, rest)) else text


def drop_mentions(text: str, *, is_reply: bool) -> str:
    """Return a tweet without the accounts that it is addressed to, at its beginning.

    One that is the subject of the first sentence stays ("@ana is right") unless the text `is_reply`
    for sure, and a text of nothing but accounts keeps them.
    """
    match = _LEADING_MENTIONS.match(text)
    rest = text[match.end() :] if match else ""
    if match is None or not any(map(str.isalnum, rest)):
        return text
    addressed = is_reply or match[0].count("@") > 1 or match[0].rstrip()[-1] in ",:;"
    return rest if addressed or not rest[0].islower() else text


def _remove_cut_link(text: str) -> str:
    """Return a text without the link at its end that was cut off: "https://exam…"."""
    words = text.split()
    if not words or not words[-1].endswith("…"):
        return text
    last_word = text.rindex(words[-1])
    link = _LINK_START.search(text, last_word)
    return text[: link.start()] if link else text


def clean_line(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text` as one line without control characters."""
    return " ".join(clean_text(text, limit).split())


def clean_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`; line breaks stay, one empty line at a time.

    Control characters, bidirectional overrides, lone surrogates and unassigned characters are
    removed; the rest is composed (NFC).
    """
    # Characters of input can vanish, so more than the limit is read, but never all of it.
    text = _LINE_ENDS.sub("\n", text[: 4 * limit]).replace("\t", " ")
    text = "".join(character for character in text if _is_kept(character))
    text = _drop_marks(unicodedata.normalize("NFC", text))
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()[:limit]


def _is_kept(character: str) -> bool:
    if character == "\n" or ord(character) in _KEPT_FORMATS:
        return True
    return unicodedata.category(character) not in _DROPPED


def _drop_marks(text: str) -> str:
    pieces: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if marks <= MARKS_IN_A_ROW:
            pieces.append(character)
    return "".join(pieces)
