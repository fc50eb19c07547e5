"""README and guides tell of the commands that there are."""

from pathlib import Path

import pytest

from bot.commands import standard_commands
from bot.commands.table import command_table

ROOT = Path(__file__).resolve().parents[3]
BEGIN, END = "<!-- commands -->\n", "\n<!-- /commands -->"


@pytest.mark.parametrize(("page", "platform"), [("README.md", ""), ("docs/slack.md", "slack")])
def test_a_page_holds_the_table(page: str, platform: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    assert table == command_table(standard_commands().commands, platform)


def test_slack_is_told_no_name_that_it_keeps_for_itself() -> None:
    table = command_table(standard_commands().commands, "slack")
    assert "| `/presagio help [COMMAND]` | this list, or one command with an example |" in table
    assert "`/help" not in table
    assert "/start" not in table


def test_a_row_says_how_it_is_called_and_what_it_does() -> None:
    rows = command_table(standard_commands().commands).splitlines()
    assert "| `/more` | show the next tweets for the last headline |" in rows
    assert "| `/help [COMMAND]`, `/start` | this list, or one command with an example |" in rows
    assert "| `/settings [NAME VALUE]` | how I behave in this chat (in groups: admins) |" in rows
    assert all(row.count("|") == 3 for row in rows)
