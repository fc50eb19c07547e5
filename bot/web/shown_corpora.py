"""The corpora that may be seen over the web; nobody learns that there are others."""

from collections.abc import Collection

from db.corpora import Corpora
from db.pool import Database
from engine.errors import CorpusNotFound
from engine.types import Corpus


class ShownCorpora(Corpora):
    """Those that are named; without names, all but what people wrote in private."""

    def __init__(self, database: Database, names: Collection[str]) -> None:
        super().__init__(database)
        self._names = names

    async def list(self) -> list[Corpus]:
        """Return them by name."""
        return [one for one in await super().list() if self._may_be_seen(one)]

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        shown = await self.list()
        for one in shown:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in shown)
        raise CorpusNotFound(
            f"There is no corpus {name!r}.", fix=f"There are: {names}." if names else None
        )

    def _may_be_seen(self, corpus: Corpus) -> bool:
        return corpus.name in self._names if self._names else not corpus.private
