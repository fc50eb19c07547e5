"""Cleaning of text for search and for display.

`searchable` prepares text for PostgreSQL's default text-search parser, whose dictionaries then
fold case, accents and endings. It handles only what that parser gets wrong on posts: it glues
"and/or", "Trump.Great" and "U.S" into file and host tokens, reads "COVID-19" as minus nineteen,
drops "<b and c>" as markup, and cannot look inside "@BetteMidler" or "#MakeAmericaGreatAgain".
Documents and headlines pass through the same function, so that both match.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]  # of Unicode
_LONGEST = 4000  # characters
_DOTS = ".。．｡"  # separators in host names (RFC 3490, section 3.1)

_BLOCK = re.compile(
    r"^[ \t]*(?:```.*|~~~.*|#{1,6} |>+ ?(?=[^\s\d<>=])|[*•] |[-+] (?!\d)|[-*_=]{3,}[ \t]*$)",
    re.MULTILINE,
)
_SLACK_LINK = re.compile(r"<(?:https?|mailto):[^\s<>|]*(?:\|([^<>]*))?>", re.IGNORECASE)
_TAG = re.compile(r"<!--[^<>]*>|<[!@#][^\s<>]*>|<(/?)([a-z][a-z0-9]*)\b([^<>]*)>", re.IGNORECASE)
_ELEMENT_NAMES = """
    a abbr b blockquote br cite code del div em font h1 h2 h3 h4 h5 h6 hr i iframe img ins kbd li
    link mark ol p pre q s script small span strike strong style sub sup table tbody td th thead
    tr tt u ul
"""
_ELEMENTS = frozenset(_ELEMENT_NAMES.split())
_ALONE = frozenset(("br", "hr", "img"))
# The address of a link; what stands in parentheses after "a[0]" is none.
_LINKED = re.compile(r"!?\[([^\[\]]*)\]\((?=[^()]*[/:#@])[^()]*(?:\([^()]*\)[^()]*)*\)")
# Signs in pairs around words; "2*3*4", "snake_case" and "__init__" have none.
_EMPHASIS = re.compile(
    r"(?<![\w*~`_])(\*{1,3}|~~|`{1,3}|_(?!_))(?=\S)((?:(?!\1).)+?)(?<=[^\s\\])\1(?![\w*~`_])"
)
_NESTED = 3  # signs within signs: **a *b***
_TOKEN = re.compile(r"\S+")
_LINKING = frozenset(f"/@＠:{_DOTS}")  # no word without any of these becomes a link
_AROUND = "\"'“”„‟‘’‚‛«»‹›()[]{}<>*_`~,;:!?…."
_SCHEME = re.compile(r"[a-z0-9+.-]{0,20}:/{2,}", re.IGNORECASE)
# @name and /command, also with runs of both characters, as in an attack.
_CALL = re.compile(r"(?<![\w/@＠])[/@＠]+(?=\w)")
_MAILBOX = re.compile(r"(?<=\w)[@＠][/@＠]*+(?=\w)")
_AT = re.compile(r"(?<![@＠])[@＠]++(?=\w)")  # that is neither, as in "w/@name"
_ADDRESS = re.compile(
    r"(?<!\S)\S*:/+\S*"
    r"|(?<!\w)(?:mailto|tel|sms|javascript|vbscript|data|file|tg|slack|magnet):\S+"
    r"|(?<!\w)www[.。．｡]\S*",
    re.IGNORECASE,
)
_HOST = re.compile(rf"(?<=\w)([{_DOTS}])(?=[^\W\d_]{{2,}})")
_BEFORE_STOP = re.compile(r" ([.,;:!?])(?=\s|$)")
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u2032\u00b4`"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"
# Zero-width characters that do not affect words: soft hyphen, joiners, direction marks, variation
# selectors.
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff"
_ODD = re.compile(f"[{_CONTROL}{_INVISIBLE}{_APOSTROPHES}{_QUOTES}\u2026\u2122]")
_MOST_MARKS = 30
_WRITTEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # that are none until they are decomposed
_MARKS = re.compile(rf"(?:[^\w\s -~]|[{_WRITTEN_MARKS}]){{{_MOST_MARKS + 1},}}")
_INVISIBLE_CHARACTER = re.compile(f"[{_INVISIBLE}]")
# Every pattern begins with a character or a class that the regex engine can skip to, and looks
# back from there: three times faster than looking ahead from each position. Possessive
# quantifiers keep them linear on hostile text.
_LINK = re.compile(r"https?(?::|\b)[^\s\"<>]*")  # also "http…", as in a truncated repost
_HOST_LINK = re.compile(
    r"\bhttps?:[^\s\"<>]*"
    r"|(?<![\w.-])www\.[^\s\"<>]*"
    r"|(?<![\w.-])(?:[\w-]++\.)++[a-z]{2,10}/[^\s\"<>]*",  # pic.twitter.com/x, bit.ly/x
    re.IGNORECASE,
)
_REPOST = re.compile(r"RT\s+(?=@)")
_TAGGED = re.compile(r"([@#](?<!\w.)\w+)(?:'[sS]\b)?")
_NEGATION = re.compile(r"\b[a-z]++(?<=n)'t\b", re.IGNORECASE)
_ENDING = re.compile(r"'(?<=[\w.].)(?:s|ll|re|ve|d|m)\b", re.IGNORECASE)
_AMPERSAND = re.compile(r"&(?<=\b[A-Z].)(?=[A-Z]\b)|&(?<=\bAT.)(?=T\b)")  # S&P, Q&A, AT&T
# Initialisms that are another word without their stops: "us", "it", "who". Without stops, "US" and
# "WHO" are initialisms only among lower-case words: "TRUST US" is ambiguous.
_HOMONYM = re.compile(r"\b(?:U\.S|I\.T|W\.H\.O)(?!\w|\.\w)", re.IGNORECASE)
_BARE_HOMONYM = re.compile(r"(?<![\w.])(?:US|WHO)(?![\w.])")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NEIGHBOURS, _NEAR = 2, 40  # words on either side to look at, and within how many characters
_STOP = "\x01"  # replaces the stops of a homonym until all others are gone; not in plain text
_INITIALISM = re.compile(r"\.(?<=\b[^\W\d_].)(?=[^\W\d_]\b)")  # U.S., p.m.
_DOUBLED_INITIALISM = re.compile(r"\.(?<=\b[A-Z]{2}.) ?(?=([A-Z])\1\b)")  # EE.UU., FF. AA.
_THOUSANDS = re.compile(r"[.,](?<=\d.)(?=\d{3}(?!\d))")
_GLUE = re.compile(
    r"[-+./<>&@#~](?:(?<=[<>&@#~])"
    r"|(?<=[-+])(?=\d)"
    r"|(?<=\.)(?:(?<!\d.)|(?!\d))"  # 1.5 stays whole
    r"|(?<=/)(?:(?<!\d.)|(?<=\d{3}.)|(?!\d{1,2}(?!\d))))"  # 9/11 does, 2019/2023 does not
)
_ENTITY = re.compile(r"&(?:#\w+|\w+);")
# An entity without its semicolon, or with a comma instead (some archives of tweets), and what a
# truncated repost leaves of "&amp;". Only names that people do not write otherwise: "R&D", "AT&T"
# and "&copy" stay, and so does a similar parameter in a link ("?a=1&lt=2").
_HALF_ENTITY = re.compile(
    r"(https?://[^\s\"<>,]*)"
    r"|&(?:(amp|lt|gt|quot|apos|nbsp|#[xX][0-9a-fA-F]{2,4})(?![\w=;])"
    r"|(#0\d\d|#8\d{3})(?![\d;])),?"
    r"|&am?(?=…|\.\.\.)"
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# A spreadsheet takes a cell that begins so for a formula, and runs it. In many countries its cells
# end at a semicolon, so that one begins within a text of this file, quoted or not.
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_CELL_START = rf"(?:\A(?='*(?:{_FORMULA}|[\t\r\n]))|(?<=[;,|\t\r\n])(?='*{_FORMULA}))"
_UNGUARDED, _GUARDED = re.compile(_CELL_START), re.compile(rf"{_CELL_START}'")


def without_markup(text: str) -> str:
    """Return the first 4,000 characters as Markdown and HTML would show them, with line ends.

    Only signs that are surely markup go. Numbers in brackets stay.
    """
    text = _drop_invisible(html.unescape(html.unescape(text[:_LONGEST])))
    # The text of a link stays; a linked number is still a citation.
    text = _LINKED.sub(
        lambda match: f"[{match[1]}]" if match[1].strip().isdigit() else match[1],
        _without_tags(_BLOCK.sub("", text)),
    )
    for _ in range(_NESTED):
        text = _EMPHASIS.sub(r"\2", text)
    return text


def without_links(text: str, held: str = "") -> str:
    """Return one line in which no platform detects a link, but for words of `held`.

    What stands in `held`, the texts that the model had to go by, stays as written, without the
    scheme of an address. Any other address is removed, host names get a space after each dot, and
    names lose their @. Call this last: removing characters may join others into a new link.
    """
    folded = held.casefold()
    unlinked = _TOKEN.sub(lambda match: _unlink_word(match[0], folded), text)
    return _BEFORE_STOP.sub(r"\1", " ".join(unlinked.split()))


def _unlink_word(word: str, held: str) -> str:
    if _LINKING.isdisjoint(word):
        return word
    bare = word.strip(_AROUND).casefold()
    if bare and re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", held):
        return _SCHEME.sub("", word)
    unaddressed = _CALL.sub("", _MAILBOX.sub(" at ", _ADDRESS.sub(" ", word)))
    return _HOST.sub(r"\1 ", _ADDRESS.sub(" ", _AT.sub("", unaddressed)))


def _without_tags(text: str) -> str:
    if "<" not in text:
        return text
    text = _SLACK_LINK.sub(lambda match: match[1] or " ", text)
    named = [(match[1], (match[2] or "").lower()) for match in _TAG.finditer(text)]
    closed = {name for slash, name in named if slash} & {name for slash, name in named if not slash}

    def replace_tag(match: re.Match[str]) -> str:
        name = (match[2] or "").lower()
        if match[2] is None or (
            name in _ELEMENTS and (name in _ALONE or name in closed or "=" in match[3])
        ):
            return " "
        return match[0]  # "the <b> element" is about one

    return _TAG.sub(replace_tag, text)


def _drop_invisible(text: str) -> str:
    """Drop invisible characters: controls, joiners, direction marks, surrogates, unassigned."""
    if text.isascii() and text.isprintable():
        return text
    seen = []
    for character in text:
        category = unicodedata.category(character)
        if character == "\n" or not category.startswith(("C", "Zl", "Zp")):
            seen.append(character)
        elif category in {"Cc", "Zl", "Zp"}:
            seen.append(" ")
    return "".join(seen)


def make_searchable(text: str) -> str:
    """Return the words of `text` as the text-search parser should see them.

    Links are removed. Hashtags and handles are kept whole and in parts ("@BetteMidler" becomes
    "BetteMidler Bette Midler"). Dotted initialisms are joined ("U.N." becomes "UN"), except those
    that would be another word: "U.S." and "US" become "U.S", which the parser keeps whole.
    Thousands are joined too ("10.000" and "10,000" become "10000"). Contractions lose the part
    that is not a word ("Trump's" becomes "Trump"; "won't" is removed, as its parts are "won" and
    "t"). The result is NFKC, without control characters, single-spaced. Linear in the length of
    `text`.
    """
    return _build_search_text(text, lambda match: _split_tag(match[1]))


def _build_search_text(text: str, tagged: Callable[[re.Match[str]], str]) -> str:
    if not (text.isascii() and text.isprintable()):
        text = normalise_form("NFKC", _ODD.sub(_plain_character, text))
    text = drop_links(text)
    if "@" in text or "#" in text:
        text = _TAGGED.sub(tagged, _REPOST.sub("", text))
    text = text.replace("_", " ")
    if "'" in text:
        if "'t" in text or "'T" in text:
            text = _NEGATION.sub(" ", text)
        text = _ENDING.sub(" ", text)
    if "&" in text:
        text = _AMPERSAND.sub("", text)
    if "." in text:
        text = _HOMONYM.sub(lambda match: f" {match[0].upper().replace('.', _STOP)} ", text)
        text = _INITIALISM.sub("", text)
        text = _DOUBLED_INITIALISM.sub("", text)
    text = _GLUE.sub(" ", _THOUSANDS.sub("", text))
    if "US" in text or "WHO" in text:
        text = _BARE_HOMONYM.sub(_unless_shouted, text)
    return " ".join(text.replace(_STOP, ".").split())


def drop_links(text: str) -> str:
    """Return `text` with a space for each link, whole or cut ("http…"), and everything else."""
    if "http" in text:
        text = _LINK.sub(" ", text)
    if "/" in text or "www." in text:
        text = _HOST_LINK.sub(" ", text)
    return text


def respell_search_text(searched: str, text: str, *, title: str | None = None) -> str:
    """Return the search text of a stored document by the current rules.

    `searched` is its search text from before single-word handles were searchable, made from the
    text, from title and text, or from something not stored, such as a text without file names.
    """
    respelled = make_searchable(searched)
    for source in (text, f"{title}\n\n{text}") if title else (text,):
        if _join_words(respelled) == _join_words(_build_search_text(source, _write_tag_as_before)):
            return make_searchable(clean_for_display(source))
    return respelled


def normalise_form(form: Form, text: str) -> str:
    """Return a text in a normal form, with at most 30 combining marks in a row.

    Putting more in their order takes time with the square of their number; no language has as many
    (UAX 15, stream-safe text).
    """
    return unicodedata.normalize(form, text if text.isascii() else _MARKS.sub(_thin_marks, text))


def _thin_marks(run: re.Match[str]) -> str:
    characters, marks = [], 0
    for character in run[0]:
        is_mark = unicodedata.combining(character) or character in _WRITTEN_MARKS
        marks = marks + 1 if is_mark else 0
        if marks <= _MOST_MARKS:
            characters.append(character)
    return "".join(characters)


def fold_case_and_accents(text: str) -> str:
    """Return text as it is compared: without case and accents."""
    apart = normalise_form("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


def camel_parts(word: str) -> tuple[str, ...]:
    """Return the parts of a compound written without spaces, in order.

    Parts end at underscores, between letters and digits, before a capital that follows a lower-case
    letter, and before the last capital of a run ("NATOSummit" gives NATO, Summit).
    """
    parts = []
    for piece in word.split("_"):
        cuts = [0, *(at for at in range(1, len(piece)) if _starts_part(piece, at)), len(piece)]
        parts += [piece[start:end] for start, end in pairwise(cuts)]
    return tuple(filter(None, parts))


def clean_for_display(text: str) -> str:
    """Return `text` for display.

    HTML entities are decoded (also those escaped twice, or with a comma or nothing instead of the
    semicolon), line ends become "\\n", a field of a CSV file loses its quotes, and characters that
    PostgreSQL cannot store (NUL, lone surrogates) are removed. Nothing else changes.
    """
    for _ in range(2):
        if "&" in text:
            text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
            text = _HALF_ENTITY.sub(
                lambda match: match[1] or html.unescape(f"&{match[2] or match[3] or 'amp'};"), text
            )
    if text.startswith('"""'):  # a quoted field
        parts = text[1:].split('""')
        parts[-1] = parts[-1].removesuffix('"')
        text = text[2:] if any('"' in part for part in parts) else '"'.join(parts)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return make_storable(text)


def make_storable(text: str) -> str:
    """Return `text` without what PostgreSQL cannot store: NUL and lone surrogates."""
    return _UNSTORABLE.sub("", text) if "\x00" in text or not text.isascii() else text


def guard_cell(value: object) -> str:
    """Return a cell of a CSV that no spreadsheet takes for a formula, nor a part of it: a text may
    get quotes."""
    text = "" if value is None else str(value)
    return _UNGUARDED.sub("'", text) if isinstance(value, str) else text


def unguard_cell(text: str) -> str:
    """Return the text of which `guard_cell` made a cell."""
    return _GUARDED.sub("", text)


def _unless_shouted(match: re.Match[str]) -> str:
    text = match.string
    before = _WORD.findall(text, max(0, match.start() - _NEAR), match.start())[-_NEIGHBOURS:]
    after = _WORD.findall(text, match.end(), match.end() + _NEAR)[:_NEIGHBOURS]
    near = (*before, *after)
    if near and all(map(str.isupper, near)):
        return match[0]
    return f" {_STOP.join(match[0])} "


def _plain_character(match: re.Match[str]) -> str:
    character = match[0]
    if character in _APOSTROPHES:
        return "'"
    return "" if _INVISIBLE_CHARACTER.match(character) else " "


@lru_cache(maxsize=16_384)
def _split_tag(tagged: str) -> str:
    """Return the searchable words of a handle or hashtag.

    A hashtag is kept whole and in parts, and so is a handle of two or more words ("@FoxNews").
    Any other handle is reduced to the one word in it ("@Rosie", "@joe_b_99").
    """
    word = tagged[1:]
    parts = camel_parts(word)
    if tagged[0] == "@":
        words = [part for part in parts if len(part) > 1 and part.isalpha()]
        if len(words) < 2:
            return f" {words[0]} " if words else " "
    return f" {word} {' '.join(parts)} " if len(parts) > 1 else f" {word} "


def _write_tag_as_before(match: re.Match[str]) -> str:
    """Return the words of a hashtag or handle by the rules before single-word handles counted."""
    word = match[1][1:]
    words = [part for part in camel_parts(word) if len(part) > 1 and part.isalpha()]
    acronym = len(word) > 1 and word.isalpha() and word.isupper()
    return _split_tag(match[1]) if match[1][0] == "#" or acronym or len(words) > 1 else " "


def _join_words(words: str) -> str:
    """Return words by the rules before some initialisms kept their stops."""
    return _HOMONYM.sub(lambda match: match[0].replace(".", ""), words).casefold()


def _starts_part(piece: str, i: int) -> bool:
    before, here = piece[i - 1], piece[i]
    if before.isdigit() != here.isdigit():
        return True
    if not here.isupper():
        return False
    return before.islower() or (before.isupper() and piece[i + 1 : i + 2].islower())
