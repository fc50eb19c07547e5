"""What a question is about."""

import pytest

from engine.answer.passages import subject


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("What was said about coffee prices?", "coffee prices?"),
        ("¿Qué es el LinnSequencer?", "¿ LinnSequencer?"),
        ("¿Qué dijo sobre el precio del café?", "¿ precio del café?"),
        ("What did he say?", "he ?"),
        ("coffee", "coffee"),
        ("Why?", "Why?"),
        ("songs of The Who", "songs of The Who"),
        ("the post-office and @posts", "the post-office and @posts"),
    ],
)
def test_the_frame_goes_unless_it_is_all_there_is(question: str, about: str) -> None:
    assert subject(question) == about
