"""An App on a database that the test has opened, with nothing of the outside."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.app import App
from bot.evidence import no_embedder
from bot.settings import Settings, load_settings
from db.chat.chats import Chats
from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.aliases import Glossaries
from db.search.embeddings import Embeddings
from db.search.lexical import LexicalIndex
from engine.answer.answer import Answerer
from engine.errors import FetchFailed
from engine.prophecy.prophecy import Prophet
from engine.values import Corpus
from tests.isolation import InThisProcess


class StandInCorpora(Corpora):
    """The corpora that are listed, as the database holds them, or made up where it does not."""

    def __init__(self, database: Database, listed: list[Corpus], *, public: bool = False) -> None:
        super().__init__(database)
        self._listed, self._public = listed, public

    async def list(self) -> list[Corpus]:
        held = {corpus.name: corpus for corpus in await super().list()}
        listed = [held.get(corpus.name, corpus) for corpus in self._listed]
        return [corpus for corpus in listed if not (self._public and corpus.private)]


class NoFeeds:
    """Looks up feeds where nothing of the web can be reached."""

    async def look_up(self, address: str) -> Any:
        """Raise FetchFailed."""
        raise FetchFailed(f"No connection to {address}.")

    read_list = look_up


def change_settings(**changes: Any) -> Settings:
    """The default settings but for some values of some sections, or for whole ones."""
    settings = load_settings(environ={})
    for section, values in changes.items():
        if isinstance(values, dict):
            changes[section] = getattr(settings, section).model_copy(update=values)
    return settings.model_copy(update=changes)


def app_parts(database: Database, **changes: Any) -> dict[str, Any]:
    """The fields of an App that searches by words; `changes` replace some of them."""
    index = LexicalIndex(database)
    parts: dict[str, Any] = {
        "settings": load_settings(environ={}),
        "database": database,
        "corpora": Corpora(database),
        "chats": Chats(database),
        "prophet": Prophet(index),
        "embeddings": Embeddings(database),
        "embedders": no_embedder,
        "glossaries": Glossaries(database),
        "isolation": InThisProcess(),
        "answerer": Answerer,
        "fetcher": None,
        "feed_lookup": NoFeeds,
    }
    return parts | changes


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApp(App):
    """An App on corpora that are listed, whatever the database holds."""

    listed: list[Corpus]

    @property
    def public(self) -> "ListedApp":
        """A copy that hides personal corpora."""
        return replace(self, corpora=StandInCorpora(self.database, self.listed, public=True))


def app_on(database: Database, listed: Sequence[Corpus] = (), **changes: Any) -> ListedApp:
    known = list(listed)
    parts = app_parts(database, corpora=StandInCorpora(database, known)) | changes
    return ListedApp(**parts, listed=known)
