"""The README tells of the commands that there are."""

from pathlib import Path

from bot.commands import standard_commands
from bot.commands.table import command_table

README = Path(__file__).resolve().parents[3] / "README.md"
BEGIN, END = "<!-- commands -->\n", "\n<!-- /commands -->"


def test_the_readme_holds_the_table() -> None:
    text = README.read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    assert table == command_table(standard_commands().commands)


def test_a_row_says_how_it_is_called_and_what_it_does() -> None:
    rows = command_table(standard_commands().commands).splitlines()
    assert "| `/more` | show the next tweets for the last headline |" in rows
    assert "| `/help [COMMAND]`, `/start` | this list, or one command with an example |" in rows
    assert "| `/settings [NAME VALUE]` | how I behave in this chat (in groups: admins) |" in rows
    assert all(row.count("|") == 3 for row in rows)
