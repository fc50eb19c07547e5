"""README and guides tell of the commands that there are."""

from pathlib import Path

import pytest

from bot.commands import standard_commands
from bot.commands.help import acts_table, command_table, rights_table

ROOT = Path(__file__).resolve().parents[3]
BEGIN, END = "<!-- commands -->\n", "\n<!-- /commands -->"


@pytest.mark.parametrize(("page", "platform"), [("README.md", ""), ("docs/slack.md", "slack")])
def test_a_page_holds_the_table(page: str, platform: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    assert table == command_table(standard_commands().commands, platform)


@pytest.mark.parametrize(
    ("name", "table"),
    [("rights", rights_table()), ("acts", acts_table(standard_commands().commands))],
)
def test_the_page_of_rights_holds_what_the_code_does(name: str, table: str) -> None:
    text = (ROOT / "docs/rights.md").read_text(encoding="utf-8")
    assert text.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- /{name} -->")[0] == table


@pytest.mark.parametrize("page", ["README.md", "docs/telegram.md", "docs/slack.md"])
def test_the_page_of_rights_is_found(page: str) -> None:
    assert "rights.md)" in (ROOT / page).read_text(encoding="utf-8")


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
