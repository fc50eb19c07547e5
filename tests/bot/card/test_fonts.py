"""Fonts are tried in the written order, and a machine without some or any still does its best."""

from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from bot.card.fonts import FontFiles, FontLibrary, Role, shipped_files
from engine.errors import SettingsError
from tests.bot.card.library import shipped

NOTHING = FontFiles(serif=None, sans=(), emoji=None, system=())


def shipped_font(name: str) -> Path:
    return next(path for path in shipped_files().sans if path.name.startswith(name))


def face_name(library: FontLibrary, text: str, role: Role = Role.TWEET) -> str | None:
    face = library.face(role, text)
    return face.name if face else None


@pytest.mark.parametrize(
    ("text", "role", "begins"),
    [
        ("ñ", Role.TWEET, "NotoSans["),
        ("Я", Role.TWEET, "NotoSans["),
        ("ñ", Role.HEADLINE, "SourceSerif4["),
        ("Ω", Role.HEADLINE, "SourceSerif4["),
        ("س", Role.HEADLINE, "NotoSansArabic"),
        ("ש", Role.TWEET, "NotoSansHebrew"),
        ("ก", Role.TWEET, "NotoSansThai"),
        ("अ", Role.TWEET, "NotoSansDevanagari"),
        ("🦉", Role.TWEET, "NotoEmoji"),
    ],
)
def test_each_script_has_a_shipped_font(text: str, role: Role, begins: str) -> None:
    name = face_name(shipped(), text, role)
    assert name is not None
    assert name.startswith(begins)


def test_a_face_must_have_every_character() -> None:
    assert face_name(shipped(), "aس") is None


def test_system_fonts_serve_what_nothing_shipped_has(tmp_path: Path) -> None:
    copy(shipped_font("NotoSansArabic"), tmp_path / "Deep.ttf")
    library = FontLibrary(
        FontFiles(serif=None, sans=(shipped_font("NotoSans["),), emoji=None, system=(tmp_path,))
    )
    assert face_name(library, "س") == "Deep.ttf"
    assert face_name(library, "ש") is None


def test_a_machine_with_one_font_and_damaged_ones_draws_with_it(tmp_path: Path) -> None:
    (tmp_path / "A-damaged.ttf").write_bytes(b"not a font" * 100)
    (tmp_path / "B-empty.otf").touch()
    (tmp_path / "C-gone.ttf").symlink_to(tmp_path / "nowhere")
    copy(shipped_font("NotoSans["), tmp_path / "D.ttf")
    assert face_name(FontLibrary(replace(NOTHING, system=(tmp_path,))), "a") == "D.ttf"


def test_upright_regular_fonts_of_the_system_come_first(tmp_path: Path) -> None:
    for name in ("AAA-BoldItalic.ttf", "BBB-Bold.ttf", "CCC-Regular.ttf", "LastResort.ttf"):
        copy(shipped_font("NotoSans["), tmp_path / name)
    assert face_name(FontLibrary(replace(NOTHING, system=(tmp_path,))), "a") == "CCC-Regular.ttf"


def test_no_font_at_all_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"No font was found.*Install"):
        FontLibrary(NOTHING)


def test_roles_differ_in_weight() -> None:
    face, bold = shipped().face(Role.TWEET, "m"), shipped().face(Role.NAME, "m")
    assert face and bold
    stem = face.font.get_nominal_glyph(ord("m"))
    assert bold.font.get_glyph_h_advance(stem) > face.font.get_glyph_h_advance(stem)
