"""The terminal as a face: everything is written, buttons are numbered and pressed by number."""

import io
from pathlib import Path

import pytest

from bot.console.face import ConsoleFace
from bot.console.screen import Screen
from bot.face.reply import Action, Button, Reply
from bot.i18n.words import words_for
from tests.bot.conversing import event

WORDS = words_for("en")
BUTTONS = (
    (
        Button(label="👍 0", action=Action(name="up", answer_id=7, value="1")),
        Button(label="👎 0", action=Action(name="down", answer_id=7, value="1")),
    ),
    (Button(label="Why?", action=Action(name="why", answer_id=7, value="0")),),
)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def face(stream: io.StringIO) -> ConsoleFace:
    return ConsoleFace(Screen(stream, width=80))


async def test_buttons_are_numbered(face: ConsoleFace, stream: io.StringIO) -> None:
    await face.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    assert stream.getvalue() == "Text\n\n:1 👍 0   :2 👎 0   :3 Why?\n\n"


async def test_a_number_presses_a_button_of_the_last_reply_that_had_some(
    face: ConsoleFace,
) -> None:
    await face.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    await face.deliver(event("x"), Reply(words=WORDS, text="No buttons"))
    assert face.pressed(":1") == "up:7:1"
    assert face.pressed(" :3 ") == "why:7:0"


@pytest.mark.parametrize("line", [":0", ":4", ":999"])
async def test_a_number_too_high_presses_what_nothing_stands_behind(
    face: ConsoleFace, line: str
) -> None:
    await face.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    pressed = face.pressed(line)
    assert pressed
    assert Action.parse(pressed) is None


@pytest.mark.parametrize("line", ["", "1", ":", ":x", ": 1", "Coffee :1", ":1 or :2", ":١"])
def test_other_lines_press_nothing(face: ConsoleFace, line: str) -> None:
    assert face.pressed(line) is None


async def test_a_word_that_passes_elsewhere_is_written(
    face: ConsoleFace, stream: io.StringIO
) -> None:
    await face.deliver(event("x"), Reply(words=WORDS, toast="Noted."))
    assert stream.getvalue() == "Noted.\n\n"


async def test_a_picture_is_kept_in_a_file_that_is_named(
    face: ConsoleFace, stream: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await face.deliver(event("x"), Reply(words=WORDS, text="https://x.com/1", picture=b"PNG"))
    link, place, *_ = stream.getvalue().splitlines()
    assert link == "https://x.com/1"
    assert Path(place).read_bytes() == b"PNG"
    assert Path(place).parent == tmp_path
