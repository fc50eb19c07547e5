"""The bot's words in a reader's language."""

import gettext
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from io import BytesIO
from string import Formatter

from engine.messages import Message, Value

LANGUAGES = ("en", "es")
DEFAULT = "en"
_SIGNS = str.maketrans(",.", ".,")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


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
        if self.language == DEFAULT:
            return f"{_MONTHS[local.month - 1]} {local.day}, {local.year}"
        from babel.dates import format_date  # noqa: PLC0415 - English needs none of it

        return format_date(local.date(), format="long", locale=self.language)


def words_for(language: str | None) -> Words:
    """Return the words for an ISO 639-1 code ("es", "es-AR"); English for unknown ones."""
    code = (language or DEFAULT).replace("_", "-").split("-")[0].lower()
    return _words(code if code in LANGUAGES else DEFAULT)


@cache
def _words(code: str) -> Words:
    return Words(code, gettext.NullTranslations() if code == DEFAULT else _catalogue(code))


def _catalogue(code: str) -> gettext.NullTranslations:
    # Catalogues are kept as people edit them and compiled in memory: nothing to build or forget.
    from babel.messages.mofile import write_mo  # noqa: PLC0415 - English needs none of it
    from babel.messages.pofile import read_po  # noqa: PLC0415

    source = (files("bot.i18n") / "locale" / f"{code}.po").read_bytes()
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(source), locale=code))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
