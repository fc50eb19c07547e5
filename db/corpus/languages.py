"""Text-search languages of PostgreSQL: those it has learned, and by ISO 639-1 codes, as sources
give them."""

from collections.abc import Collection

from db.pool import Database
from db.statements import statements

_LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def names_of(language: str) -> set[str]:
    """Return the code and the text-search language of a language given as either."""
    same = {pair for pair in _LANGUAGES.items() if language in pair}
    return {language, *(name for pair in same for name in pair)}


def language_of(code: str | None, default: str, known: Collection[str]) -> str:
    """Return the text-search language for a document's own `code`.

    Codes are cut to their first part ("pt-BR" is "pt"); a language that the server does not support
    falls back to the corpus' `default`.
    """
    name = _LANGUAGES.get((code or "").split("-")[0].split("_")[0].lower(), default)
    return name if name in known else default


async def add_languages(database: Database) -> list[str]:
    """Make languages usable that the server knows and the database does not; return their names.

    A newer server has them, whose tables came from an older one. Texts that were stored before
    remain indexed as they are. Raises StorageError.
    """
    async with database.transaction() as connection:
        await connection.execute(statements("corpora")["lock_languages"])
        return list(await connection.fetchval(statements("corpora")["add_languages"]))
