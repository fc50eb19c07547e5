"""All that engine and database can say is said in every language, whole."""

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from inspect import isclass
from pathlib import Path

import pytest

from bench import house
from bot import adapter
from bot.i18n.words import words_for
from bot.web import failures
from engine import errors
from engine.budget import Budget, BudgetSource, require_budget
from engine.errors import BudgetExhausted, PresagioError
from engine.messages import (
    Message,
    as_message,
    for_operators,
    join_messages,
    message_from_json,
    message_json,
)
from engine.values import Usage

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[3]
SPANISH = words_for("es")
# What people meet in chats and on the web page; the command line and the settings are English.
FOLDERS = ("engine", "db", "bot")
ENGLISH_ONLY = (
    "bot/cli",
    "bot/settings",
    "bot/card",
    "bot/evidence.py",
    "bot/serve.py",
    "bot/serve.py",
)
ERRORS = {
    name
    for module in (errors, adapter, failures)
    for name, value in vars(module).items()
    if isclass(value) and issubclass(value, PresagioError)
}


@cache
def sources() -> list[tuple[str, Path]]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    named = [(path.relative_to(ROOT).as_posix(), path) for path in paths]
    return [(name, path) for name, path in named if not name.startswith(ENGLISH_ONLY)]


def calls(names: set[str]) -> Iterator[tuple[str, ast.Call]]:
    for file, path in sources():
        for node in house.calls(path):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in names:
                    yield f"{file}:{node.lineno}", node


def templates() -> dict[str, str]:
    """Every template, and a place where it is said."""
    return {
        str(call.args[0].value): place
        for place, call in calls({"Message"})
        if isinstance(call.args[0], ast.Constant)
    }


def test_enough_messages_are_found_in_the_sources() -> None:
    assert len(templates()) > 300
    assert len(list(calls(ERRORS))) > 200


def test_every_template_is_a_literal() -> None:
    other = [at for at, call in calls({"Message"}) if not isinstance(call.args[0], ast.Constant)]
    assert other == []


def texts_of(call: ast.Call) -> Iterator[ast.expr]:
    """What an error says, without the messages in it."""
    waiting = [
        *call.args,
        *(keyword.value for keyword in call.keywords if keyword.arg in ("fix", "message")),
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            yield node
        elif isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            waiting += node.values


def test_errors_use_only_translatable_messages() -> None:
    plain = [
        f"{place}: {ast.unparse(node)}"
        for place, call in calls(ERRORS)
        for node in texts_of(call)
        if not isinstance(node, ast.Constant) or isinstance(node.value, str)
    ]
    assert plain == []


def test_spent_budget_error_is_translated() -> None:
    spent = {BudgetSource.CHATS: Usage(prompt_tokens=1234567)}
    with pytest.raises(BudgetExhausted) as caught:
        require_budget(Budget(tokens=1_000_000), spent, BudgetSource.CHATS, now=NOW)
    assert "1,000,000 tokens" in str(caught.value)
    notice = Message("Not judged: {reason}", reason=caught.value.full_message)
    assert notice == f"Not judged: {caught.value}"
    said = words_for("es", operator=True).render(notice)
    assert "presupuesto diario" in said
    assert "1.000.000" in said
    plain = "Mi modelo ya hizo todo lo que puede hoy. Prueba otra vez mañana."
    assert SPANISH.render(notice).endswith(plain)
    stored = message_from_json(message_json(notice))
    assert SPANISH.render(stored) == SPANISH.render(notice)


def test_operator_sentences_are_omitted_for_other_readers() -> None:
    fix = for_operators(Message("Load one with: presagio ingest FILE"))
    said = join_messages(Message("There is no corpus yet."), fix, Message("Try again."))
    assert said == "There is no corpus yet. Load one with: presagio ingest FILE Try again."
    for kept in (said, message_from_json(message_json(said))):
        assert words_for("en").render(kept) == "There is no corpus yet. Try again."
        assert words_for("en", operator=True).render(kept) == said


def test_numbers_have_the_signs_of_the_language() -> None:
    said = Message("The model answered nothing within {seconds:g} s.", seconds=2.5)
    assert SPANISH.render(said) == "El modelo no respondió nada en 2,5 s."
    said = Message("{label} is larger than {number:,} bytes.", label="a.car", number=1234567)
    assert SPANISH.render(said) == "a.car pasa de 1.234.567 bytes."
    assert words_for("en").render(said) == said


def test_sentences_stored_and_read_again_are_translated() -> None:
    said = join_messages(
        Message("Corpus {name} is empty.", name="my.corpus"),
        Message("There is no word in this to look for."),
    )
    whole = "El corpus my.corpus está vacío. No hay ninguna palabra que buscar."
    assert SPANISH.render(said) == SPANISH.render(message_from_json(message_json(said))) == whole


def test_foreign_text_is_not_translated_or_formatted() -> None:
    assert SPANISH.render(as_message("There is no corpus yet.")) == "There is no corpus yet."
    assert SPANISH.render("There is no corpus yet.") == "There is no corpus yet."
    assert SPANISH.render("") == ""
    assert SPANISH.render(as_message("{0}{x}")) == "{0}{x}"
