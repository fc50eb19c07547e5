"""The catalogues are current and complete, and say dates and numbers as people do."""

import ast
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from babel.dates import format_date
from babel.messages import Catalog
from babel.messages.pofile import read_po
from jinja2 import Environment
from jinja2.nodes import Call, Const, Name

from bench.house import calls
from bench.words import list_api_prose
from bot.i18n import words as module
from bot.i18n.words import LANGUAGES, words_for

PACKAGES = [Path(__file__).resolve().parents[3] / package for package in ("bot", "engine", "db")]
LOCALE = PACKAGES[0] / "i18n" / "locale"
KEYWORDS = {"say": None, "marked": None, "Message": None, "count": (1, 2), "marked_plural": (1, 2)}
REMEDY = "run: make words"
Text = str | tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A message and its translations: one, or one for each plural form."""

    id: Text
    forms: tuple[str, ...]
    fuzzy: bool


def template() -> Catalog:
    with (LOCALE / "presagio.pot").open("rb") as file:
        return read_po(file)


def translations(language: str) -> Catalog:
    with (LOCALE / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def entries(catalog: Catalog) -> list[Entry]:
    return [
        Entry(_text(message.id), tuple(_forms(message.string)), message.fuzzy)
        for message in catalog
        if message.id
    ]


def _text(message: object) -> Text:
    return message if isinstance(message, str) else tuple(_forms(message))


def _forms(said: object) -> list[str]:
    return [str(form or "") for form in (said if isinstance(said, list | tuple) else [said])]


def messages(catalog: Catalog) -> set[Text]:
    return {entry.id for entry in entries(catalog)}


def said_in_the_sources() -> set[Text]:
    """All literals that are said, read from the syntax tree: also those inside f-strings."""
    return {
        message
        for package in PACKAGES
        for path in package.rglob("*.py")
        for message in said_in(path)
    }


def said_in(path: Path) -> Iterator[Text]:
    for node in calls(path):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in KEYWORDS:
            continue
        literals = [a.value for a in node.args if isinstance(a, ast.Constant)]
        strings = [value for value in literals if isinstance(value, str)]
        if name in ("count", "marked_plural") and len(strings) >= 2:
            yield strings[0], strings[1]
        elif name in ("say", "marked", "Message") and strings:
            yield strings[0]


def said_in_the_templates() -> set[Text]:
    """All literals that templates of HTML say; what else they say is a constant of the sources."""
    arguments = [
        call.args[0]
        for path in PACKAGES[0].rglob("templates/*.html")
        for call in Environment().parse(path.read_text(encoding="utf-8")).find_all(Call)
        if isinstance(call.node, Name) and call.node.name == "say"
    ]
    assert all(isinstance(said, Const | Name) for said in arguments)
    return {said.value for said in arguments if isinstance(said, Const)}


def test_template_contains_every_message_of_the_sources() -> None:
    said = said_in_the_sources() | said_in_the_templates() | list_api_prose()
    assert said == messages(template()), f"{REMEDY}; babel does not look into f-strings"


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
class TestEachTranslation:
    def test_is_complete_and_holds_nothing_else(self, language: str) -> None:
        catalog = translations(language)
        assert messages(catalog) == messages(template()), REMEDY
        for entry in entries(catalog):
            assert all(entry.forms), f"not translated: {entry.id}"
            assert not entry.fuzzy, entry.id

    def test_is_compiled(self, language: str) -> None:
        with (LOCALE / f"{language}.mo").open("rb") as file:
            compiled = gettext.GNUTranslations(file)
        for entry in entries(translations(language)):
            if isinstance(entry.id, str):
                said = [compiled.gettext(entry.id)]
            else:
                said = [compiled.ngettext(entry.id[0], entry.id[1], number) for number in (1, 2)]
            assert said == list(entry.forms), "run: make setup"

    def test_names_its_plural_forms(self, language: str) -> None:
        # Versions of Babel differ in how many a language has.
        written = (LOCALE / f"{language}.po").read_text(encoding="utf-8")
        assert written.startswith('msgid ""\nmsgstr "Plural-Forms: nplurals=')

    def test_has_every_plural_form(self, language: str) -> None:
        catalog = translations(language)
        for entry in entries(catalog):
            assert len(entry.forms) == (1 if isinstance(entry.id, str) else catalog.num_plurals)

    def test_keeps_the_placeholders(self, language: str) -> None:
        for entry in entries(translations(language)):
            wanted = placeholders(first(entry))
            assert [placeholders(form) for form in entry.forms] == [wanted] * len(entry.forms)

    def test_keeps_commands_and_ends_as_the_original(self, language: str) -> None:
        for entry in entries(translations(language)):
            original, said = first(entry), entry.forms[0]
            assert commands(said) == commands(original)
            assert (said[-1] in ".:?") == (original[-1] in ".:?"), original


def first(entry: Entry) -> str:
    return entry.id if isinstance(entry.id, str) else entry.id[0]


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)", text))


def commands(text: str) -> list[str]:
    return re.findall(r"/[a-z]+\b", text)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "en"),
        ("es", "es"),
        ("ES", "es"),
        ("es-AR", "es"),
        ("es_419", "es"),
        ("en-GB", "en"),
        ("pt-br", "en"),
        ("", "en"),
        (None, "en"),
        ("../../es", "en"),
    ],
)
def test_a_language_is_found_by_its_code(code: str | None, expected: str) -> None:
    assert words_for(code).language == expected


def test_words_of_one_language_are_the_same() -> None:
    assert words_for("es-AR") is words_for("es")
    assert words_for("xx") is words_for("en")


@pytest.mark.parametrize(
    ("language", "expected"), [("en", "March 14, 2012"), ("es", "14 de marzo de 2012")]
)
def test_a_date_is_written_as_people_do(language: str, expected: str) -> None:
    moment = datetime(2012, 3, 14, 23, tzinfo=UTC)
    assert words_for(language).date(moment) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_date_is_written_as_unicode_s_tables_say(language: str) -> None:
    for month in range(1, 13):
        moment = datetime(2012, month, 1, tzinfo=UTC)
        expected = format_date(moment.date(), format="long", locale=language)
        assert words_for(language).date(moment) == expected


def test_a_date_is_that_of_the_zone() -> None:
    moment = datetime(2012, 3, 14, 23, tzinfo=UTC)
    assert words_for("en").date(moment, timezone(timedelta(hours=2))) == "March 15, 2012"


def test_thousands_are_set_apart() -> None:
    assert [words_for(code).number(56573) for code in ("en", "es")] == ["56,573", "56.573"]


def test_a_catalogue_that_is_missing_is_told_of_and_english_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "files", lambda _: tmp_path)
    assert module._load_catalogue("es").gettext("More") == "More"
    assert "es.mo is missing: install presagio again" in caplog.text


def test_empty_and_unknown_messages_are_returned_unchanged() -> None:
    for code in LANGUAGES:
        assert words_for(code).say("") == ""
        assert words_for(code).say("{never said}") == "{never said}"


def test_values_are_not_read_as_templates() -> None:
    said = words_for("es").say("I know no command /{name}.", name="{incident}%s")
    assert said == "No conozco el comando /{incident}%s."
