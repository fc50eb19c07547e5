"""What setup is told is read as what it is."""

import pytest

from bot.cli.setup import is_address


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("localhost:11434/v1", True),
        ("localhost/v1", True),
        ("ollama:11434/v1", True),
        ("models.example.org/v1", True),
        ("sk-or-v1-0123456789abcdef", False),
        ("c2VjcmV0/a2V5+PQ==", False),
        ("", False),
    ],
)
def test_an_address_of_a_model_is_told_from_a_key(answer: str, expected: bool) -> None:
    assert is_address(answer) is expected
