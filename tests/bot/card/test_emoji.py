"""Emoji are found whole: with skin, family, flag and keycap, however they were typed."""

from pathlib import Path

import pytest

from bot.card.fonts import EmojiPictures, shipped_files

PICTURES = EmojiPictures(shipped_files().emoji)


ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng\x7f")


@pytest.mark.parametrize(
    "emoji",
    ["🔥", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇪🇸", "1️⃣", "❤", "❤️", "👩‍🚀", ENGLAND],
)
def test_a_sequence_is_one_picture(emoji: str) -> None:
    found = PICTURES.match(f"a{emoji}b", 1)
    assert found is not None
    end, file = found
    assert end == 1 + len(emoji)
    assert file.is_file()


def test_the_longest_sequence_wins() -> None:
    thumb, brown = PICTURES.match("👍", 0), PICTURES.match("👍🏽", 0)
    assert thumb and brown and thumb[1] != brown[1]


def test_unknown_sequences_fall_apart_into_known_emoji() -> None:
    found = PICTURES.match("🔥\u200d🔥", 0)
    assert found is not None
    assert found[0] == 1


@pytest.mark.parametrize("text", ["a", "1", "#", " ", "日", "\ufe0f"])
def test_plain_characters_match_no_picture(text: str) -> None:
    assert PICTURES.match(text, 0) is None


@pytest.mark.parametrize("folder", [None, Path("missing")])
def test_missing_folder_gives_no_pictures(folder: Path | None) -> None:
    assert EmojiPictures(folder).match("🔥", 0) is None
