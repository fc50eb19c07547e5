"""The bot's words in a reader's language."""

import gettext
import logging
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from string import Formatter

from engine.messages import Message, Value

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
    """Return `message` as it is; the catalogues hold it, for it is said elsewhere."""
    return message


def marked_plural(singular: str, plural: str) -> tuple[str, str]:
    """Return both forms as they are, for `Words.count` to be called with."""
    return singular, plural


class _Places(Formatter):
    """Fills the places of a template; numbers that it formats have the signs of the language."""

    def __init__(self, words: "Words") -> None:
        self._words = words

    def format_field(self, value: object, format_spec: str) -> str:
        written = super().format_field(value, format_spec)
        return self._words.numeral(written) if isinstance(value, int | float) else written


class Words:
    """Says things in one language. English is what the program is written in."""

    def __init__(self, language: str, catalogue: gettext.NullTranslations) -> None:
        self.language = language
        self._catalogue = catalogue

    def __repr__(self) -> str:
        return f"Words({self.language!r})"

    def say(self, message: str, **values: object) -> str:
        """Return `message` in this language, with `{name}` filled in from `values`."""
        # The empty message is the catalogue's own description.
        said = self._catalogue.gettext(message) if message else ""
        return said.format(**values) if values else said

    def render(self, message: str) -> str:
        """Return a message in this language, with the messages among its values.

        Any other text is returned as it is: it comes from outside, or is said already.
        """
        if not isinstance(message, Message) or self.language == DEFAULT:
            return str(message)
        said = self.say(message.template)
        if not message.values:
            return said
        values = {name: self._value(value) for name, value in message.values.items()}
        return _Places(self).vformat(said, (), values)

    def _value(self, value: Value) -> Value:
        return self.render(value) if isinstance(value, Message) else value

    def count(self, singular: str, plural: str, number: int, **values: object) -> str:
        """Return the form that `number` asks for, with `{number}` and `values` filled in."""
        said = self._catalogue.ngettext(singular, plural, number)
        return said.format(number=self.number(number), **values)

    def number(self, number: int) -> str:
        """Return a whole number with its thousands apart: "56,573", "56.573"."""
        return self.numeral(f"{number:,}")

    def numeral(self, written: str) -> str:
        """Return a number written in English with the signs of this language: "0.5", "0,5"."""
        return written if self.language == DEFAULT else written.translate(_SIGNS)

    def date(self, moment: datetime, zone: tzinfo | None = None) -> str:
        """Return a day as people write it: "March 14, 2012", "14 de marzo de 2012"."""
        local = moment.astimezone(zone) if zone else moment
        month = _MONTHS[self.language][local.month - 1]
        if self.language == DEFAULT:
            return f"{month} {local.day}, {local.year}"
        return f"{local.day} de {month} de {local.year}"


def words_for(language: str | None) -> Words:
    """Return the words for an ISO 639-1 code ("es", "es-AR"); English for unknown ones."""
    code = (language or DEFAULT).replace("_", "-").split("-")[0].lower()
    return _words(code if code in LANGUAGES else DEFAULT)


@cache
def _words(code: str) -> Words:
    return Words(code, gettext.NullTranslations() if code == DEFAULT else _catalogue(code))


def _catalogue(code: str) -> gettext.NullTranslations:
    compiled = files("bot.i18n") / "locale" / f"{code}.mo"  # which the build makes: hatch_build.py
    try:
        with compiled.open("rb") as file:
            return gettext.GNUTranslations(file)
    except FileNotFoundError:
        logger.warning("The catalogue %s is missing: install presagio again", compiled)
        return gettext.NullTranslations()
