"""The bot's words in a reader's language."""

import gettext
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from io import BytesIO

LANGUAGES = ("en", "es")
DEFAULT = "en"


class Words:
    """Says things in one language. English is what the program is written in."""

    def __init__(self, language: str, catalogue: gettext.NullTranslations) -> None:
        self.language = language
        self._catalogue = catalogue

    def __repr__(self) -> str:
        return f"Words({self.language!r})"

    def say(self, message: str, **values: object) -> str:
        """Return `message` in this language, with `{name}` filled in from `values`."""
        said = self._catalogue.gettext(message)
        return said.format(**values) if values else said

    def count(self, singular: str, plural: str, number: int, **values: object) -> str:
        """Return the form that `number` asks for, with `{number}` and `values` filled in."""
        said = self._catalogue.ngettext(singular, plural, number)
        return said.format(number=number, **values)

    def date(self, moment: datetime, zone: tzinfo | None = None) -> str:
        """Return a day as people write it: "March 14, 2012", "14 de marzo de 2012"."""
        from babel.dates import format_date  # noqa: PLC0415 - 60 ms that JSON does not need

        local = moment.astimezone(zone) if zone else moment
        return format_date(local.date(), format="long", locale=self.language)


@cache
def words_for(language: str | None) -> Words:
    """Return the words for an ISO 639-1 code ("es", "es-AR"); English for unknown ones."""
    code = (language or DEFAULT).replace("_", "-").split("-")[0].lower()
    if code not in LANGUAGES or code == DEFAULT:
        return Words(DEFAULT, gettext.NullTranslations())
    return Words(code, _catalogue(code))


def _catalogue(code: str) -> gettext.NullTranslations:
    # Catalogues are kept as people edit them and compiled in memory: nothing to build or forget.
    from babel.messages.mofile import write_mo  # noqa: PLC0415
    from babel.messages.pofile import read_po  # noqa: PLC0415

    source = (files("bot") / "locale" / f"{code}.po").read_bytes()
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(source), locale=code))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
