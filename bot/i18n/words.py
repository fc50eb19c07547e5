"""Translates messages and formats numbers and dates in the reader's language."""

import gettext
import logging
from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from string import Formatter

from engine.messages import Message, list_wordings, split_messages

LANGUAGES = ("en", "es")
DEFAULT = "en"
logger = logging.getLogger("presagio.words")

_SIGNS = str.maketrans(",.", ".,")
_MONTHS = {
    "en": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    "es": (
        *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
        *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
    ),
}


def marked(message: str) -> str:
    """Return `message` unchanged; marks it for the catalogues where it is translated later."""
    return message


def marked_plural(singular: str, plural: str) -> tuple[str, str]:
    """Return both forms unchanged; marks them for a later call of `Words.count`."""
    return singular, plural


class _Places(Formatter):
    """Fills in a template, formatting numbers with the separators of the language."""

    def __init__(self, words: "Words") -> None:
        self._words = words

    def format_field(self, value: object, format_spec: str) -> str:
        written = super().format_field(value, format_spec)
        return self._words.numeral(written) if isinstance(value, int | float) else written

    def convert_field(self, value: object, conversion: str | None) -> object:
        """Write `{name!r}` of a text with the quotation marks of the language."""
        if conversion == "r" and isinstance(value, str) and self._words.language != DEFAULT:
            return f"«{value}»"
        return super().convert_field(value, conversion)


class Words:
    """Translates into one language. The messages in the code are English.

    What only an operator can mend (engine.messages.for_operators) is told in full with `operator`,
    and plainly to everybody else. `write_commands` returns a text of the bot itself with the
    commands as people type them; the values that fill a message in are left as they are.
    """

    def __init__(
        self,
        language: str,
        catalogue: gettext.NullTranslations,
        *,
        operator: bool = False,
        write_commands: Callable[[str], str] = str,
    ) -> None:
        self.language = language
        self.operator = operator
        self.write_commands = write_commands
        self._catalogue = catalogue

    def __repr__(self) -> str:
        return f"Words({self.language!r})"

    def naming_commands(self, write_commands: Callable[[str], str]) -> "Words":
        """Return the same words, which write commands so."""
        return Words(
            self.language, self._catalogue, operator=self.operator, write_commands=write_commands
        )

    def in_language(self, language: str) -> "Words":
        """Return words for the same reader in another language."""
        words = words_for(language, operator=self.operator)
        return words.naming_commands(self.write_commands)

    def say(self, message: str, **values: object) -> str:
        """Return `message` in this language, with `{name}` filled in from `values`."""
        # gettext returns the catalogue's header for the empty message.
        text = self.write_commands(self._catalogue.gettext(message)) if message else ""
        return text.format(**values) if values else text

    def render(self, message: str) -> str:
        """Return a Message in this language, translating nested messages in its values too.

        Any other text is returned unchanged: it comes from outside or is already translated.
        """
        if not isinstance(message, Message):
            return str(message)
        if both := list_wordings(message):
            return self.render(both[0 if self.operator else 1])
        as_written = self.language == DEFAULT and self.write_commands is str
        if as_written and not _has_two_wordings(message):
            return str(message)
        if len(sentences := split_messages(message)) > 1:
            return " ".join(filter(None, map(self.render, sentences)))
        text = self.say(message.template)
        if not message.values:
            return text
        values = {
            name: self.render(value) if isinstance(value, Message) else value
            for name, value in message.values.items()
        }
        return _Places(self).vformat(text, (), values)

    def count(self, singular: str, plural: str, number: int, **values: object) -> str:
        """Return the plural form for `number`, with `{number}` and `values` filled in."""
        text = self.write_commands(self._catalogue.ngettext(singular, plural, number))
        return text.format(number=self.number(number), **values)

    def number(self, number: int) -> str:
        """Return a whole number with thousands separators: "56,573", "56.573"."""
        return self.numeral(f"{number:,}")

    def numeral(self, written: str) -> str:
        """Convert a number in English notation to that of this language: "0.5", "0,5"."""
        return written if self.language == DEFAULT else written.translate(_SIGNS)

    @property
    def months(self) -> tuple[str, ...]:
        """The names of the months."""
        return _MONTHS[self.language]

    def month(self, year: int, month: int) -> str:
        """Return a month as people write it: "March 2012", "marzo de 2012"."""
        name = self.months[month - 1]
        return f"{name} {year}" if self.language == DEFAULT else f"{name} de {year}"

    def date(self, moment: datetime, zone: tzinfo | None = None) -> str:
        """Return a day as people write it: "March 14, 2012", "14 de marzo de 2012"."""
        local = moment.astimezone(zone) if zone else moment
        day = self.day(local)
        return f"{day}, {local.year}" if self.language == DEFAULT else f"{day} de {local.year}"

    def short_date(self, moment: datetime) -> str:
        """Return a day as lists name it, in one line: "Mar 14, 2012", "14 mar 2012"."""
        month = self.months[moment.month - 1][:3]
        if self.language == DEFAULT:
            return f"{month} {moment.day}, {moment.year}"
        return f"{moment.day} {month} {moment.year}"

    def day(self, moment: datetime) -> str:
        """Return a day of any year: "March 14", "14 de marzo"."""
        month = self.months[moment.month - 1]
        return f"{month} {moment.day}" if self.language == DEFAULT else f"{moment.day} de {month}"


def _has_two_wordings(message: Message) -> bool:
    nested = [value for value in message.values.values() if isinstance(value, Message)]
    return any(list_wordings(wording) or _has_two_wordings(wording) for wording in nested)


def words_for(language: str | None, *, operator: bool = False) -> Words:
    """Return the Words for a language code ("es", "es-AR"), English if it is unknown."""
    code = (language or DEFAULT).replace("_", "-").split("-")[0].lower()
    return _build_words(code if code in LANGUAGES else DEFAULT, operator)


@cache
def _build_words(code: str, operator: bool) -> Words:
    catalogue = gettext.NullTranslations() if code == DEFAULT else _load_catalogue(code)
    return Words(code, catalogue, operator=operator)


def _load_catalogue(code: str) -> gettext.NullTranslations:
    compiled = files("bot.i18n") / "locale" / f"{code}.mo"  # compiled by hatch_build.py
    try:
        with compiled.open("rb") as file:
            return gettext.GNUTranslations(file)
    except FileNotFoundError:
        logger.warning("The catalogue %s is missing: install presagio again", compiled)
        return gettext.NullTranslations()
