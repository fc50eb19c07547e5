"""Files that the owner sends in a chat: kept for a day, and loaded as `presagio ingest` does."""

import asyncio
import io
import re
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.commands.services import OfferedArchive
from bot.console.screen import Output
from bot.media import make_folder
from engine.corpora import ALL, USUAL
from engine.settings.reading import IngestSettings
from engine.values import Corpus, CorpusRole, Kind

if TYPE_CHECKING:
    from bot.app import App

_FOLDER = "offered"
_KEPT_SECONDS = 86_400.0
_KEY = re.compile(r"[0-9a-f]{16}")
_APART = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40


class OfferedFiles:
    """Implements ArchiveLoader in the data folder: each file lies in a folder named by its key, in
    one named like the corpus that it would fill."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._root = app.settings.data_dir / _FOLDER

    async def receive(
        self, name: str, fetch: Callable[[Path], Awaitable[None]], *, zone: str
    ) -> OfferedArchive:
        """Keep a file for a day, and tell what it holds. Raises PresagioError."""
        await asyncio.to_thread(self._forget_old)
        key = secrets.token_hex(8)
        sent = Path(name)
        plain = (
            _APART.sub("-", sent.stem.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "archive"
        )
        file = self._root / key / f"{plain}{sent.suffix.lower()}"
        try:
            make_folder(file.parent, within=self._app.settings.data_dir)
            await fetch(file)
            async with open_sources([str(file)], IngestOptions(), self._settings) as (source,):
                if source.table and "timezone" in source.table.guessed:
                    source.read_times_in(zone)
                    await source.recognise()
                kind, table = source.kinds[0], source.table
            corpus, is_known = await self._choose_corpus(kind, plain)
            (file.parent / corpus).mkdir(mode=0o700)
            file.rename(file.parent / corpus / file.name)
        except BaseException:
            self.drop(key)
            raise
        is_guessed = table is not None and (table.needs_consent or table.timezone is not None)
        return OfferedArchive(
            key=key,
            kind=kind,
            corpus=corpus,
            is_known=is_known,
            table=table if is_guessed else None,
        )

    async def load(self, key: str, *, zone: str | None) -> Corpus | None:
        """Load a file; return its corpus, or None if the file is gone. Raises PresagioError."""
        file = next((self._root / key).glob("*/*"), None) if _KEY.fullmatch(key) else None
        if file is None:
            return None
        options = IngestOptions(corpus=file.parent.name, timezone=zone)
        try:
            async with open_sources([str(file)], options, self._settings) as sources:
                unseen = Output(io.StringIO(), io.StringIO())
                name = await ingest_files(self._app, sources, options, output=unseen)
        finally:
            self.drop(key)
        return await self._app.corpora.get(name)

    def drop(self, key: str) -> None:
        """Delete a file."""
        if _KEY.fullmatch(key):
            shutil.rmtree(self._root / key, ignore_errors=True)

    @property
    def _settings(self) -> IngestSettings:
        return self._app.settings.ingest

    async def _choose_corpus(self, kind: Kind, plain: str) -> tuple[str, bool]:
        """Return the name of the corpus to fill, and whether there is one.

        The first archive has the name that `ingest` gives it, and others that of their file: two
        people's texts would otherwise become one archive.
        """
        known = {corpus.name: corpus for corpus in await self._app.corpora.list()}
        if not any(corpus.role is CorpusRole.ARCHIVE for corpus in known.values()):
            name = self._app.settings.search.corpus or kind.value
        else:
            name = plain
        taken = known.get(name)
        if name in {ALL, USUAL} or (taken and taken.kind is not kind):
            name = f"{name}-{kind.value}"
        return name, name in known

    def _forget_old(self) -> None:
        for folder in self._root.glob("*"):
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                self.drop(folder.name)
