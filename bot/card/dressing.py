"""Chooses what each letter of a text is drawn with: a face that has it, or an emoji picture."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.card.faces import FontFace
from bot.card.fonts import FontLibrary, Role

ELLIPSIS = "…"
# Joiners and variation selectors: they change their neighbours and are not drawn themselves.
_INVISIBLE = {"\u200c", "\u200d", *map(chr, range(0xFE00, 0xFE10))}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A letter with its marks, an emoji, or a line break (which has neither face nor picture)."""

    text: str
    face: FontFace | None = None
    emoji: Path | None = None


def ellipsis_of(role: Role, fonts: FontLibrary) -> Cluster:
    """Return the ellipsis that marks an omission."""
    return Cluster(ELLIPSIS, fonts.face(role, ELLIPSIS))


def dress(text: str, role: Role, fonts: FontLibrary) -> Iterator[Cluster]:
    """Give each grapheme a face or a picture; each undrawable stretch becomes one ellipsis."""
    at = 0
    face: FontFace | None = None
    in_gap = False
    while at < len(text):
        found = _emoji(text, at, role, fonts)
        if found:
            end, picture = found
            yield Cluster(text[at:end], emoji=picture)
            at, in_gap = end, False
            continue
        start, at = at, _grapheme_end(text, at)
        cluster = _lettered(text[start:at], face, role, fonts)
        if cluster:
            face, in_gap = cluster.face, in_gap and cluster.text == " "
            yield cluster
        elif _says_something(text[start]) and not in_gap:
            in_gap = True
            yield ellipsis_of(role, fonts)


def _emoji(text: str, at: int, role: Role, fonts: FontLibrary) -> tuple[int, Path] | None:
    """Return where the emoji here ends and its picture; None for plain signs such as "©"."""
    found = fonts.emoji.match(text, at)
    if found is None:
        return None
    matched = text[at : found[0]]
    plain = len(matched) == 1 and fonts.primary_draws(role, matched)
    return None if plain else found


def _grapheme_end(text: str, at: int) -> int:
    """Return where a letter with all its marks, joiners and selectors ends."""
    end = at + 1
    while end < len(text) and (
        text[end] in _INVISIBLE or unicodedata.category(text[end])[0] == "M"
    ):
        end += 1
    return end


def _lettered(text: str, before: FontFace | None, role: Role, fonts: FontLibrary) -> Cluster | None:
    """Return the cluster as written, or its plain equivalent (𝓪 as a), or without its marks."""
    if text == "\n":
        return Cluster(text)
    visible = "".join(character for character in text if character not in _INVISIBLE)
    if not visible:
        return None
    if visible == " " and before and before.draws(visible):
        return Cluster(visible, before)
    for candidate in (visible, unicodedata.normalize("NFKC", visible), visible[0]):
        face = fonts.face(role, candidate) if candidate else None
        if face:
            return Cluster(text if candidate == visible else candidate, face)
    return None


def _says_something(character: str) -> bool:
    """Tell whether omitting the character should show: letters and numbers, not ornaments."""
    return unicodedata.category(character)[0] in "LN"
