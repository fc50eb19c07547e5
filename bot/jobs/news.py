"""Stores headlines from feeds as documents of a corpus that is searched like any other."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents, Retention
from engine.corpora import NEWS_CORPUS
from engine.documents import Document
from engine.errors import CorpusNotFound
from engine.feeds.types import Feed, NewHeadline
from engine.text.clean import searchable
from engine.types import Corpus, Kind

# Outside the event loop: long feeds take a second.
_WRITING = ThreadPoolExecutor(1, thread_name_prefix="news")
_LANGUAGE = "simple"  # for feeds that state no language


class News:
    """Writes the corpus of news, creating it if it is missing."""

    def __init__(self, corpora: Corpora, documents: Documents, retention: Retention) -> None:
        self._corpora = corpora
        self._documents = documents
        self._retention = retention
        self._corpus: Corpus | None = None

    async def keep(self, feed: Feed, headlines: Sequence[NewHeadline]) -> None:
        """Store new and changed headlines of a feed that is open to all. Raises StorageError.

        Feeds that a chat added for itself are skipped: they may be private, and everybody
        searches this corpus.
        """
        if not headlines or not feed.configured:
            return
        corpus = await self._known()
        found = await asyncio.get_running_loop().run_in_executor(
            _WRITING, documents_of, feed, headlines
        )
        digests = {name: document.digest for name, document in found.items()}
        outdated = await self._documents.outdated(corpus, digests)
        if outdated:
            await self._documents.upsert(corpus, [found[name] for name in sorted(outdated)])

    async def forget(self, *, before: datetime) -> int:
        """Remove documents published before `before`; return how many were removed."""
        try:
            corpus = await self._corpora.get(NEWS_CORPUS)
        except CorpusNotFound:  # no feed has brought anything yet
            return 0
        return await self._retention.forget(corpus, before=before)

    async def _known(self) -> Corpus:
        if self._corpus is None:
            self._corpus = await self._corpora.ensure(
                NEWS_CORPUS,
                kind=Kind.PUBLISHED,
                language=_LANGUAGE,
                author=None,
                url_template=None,
            )
        return self._corpus


def documents_of(feed: Feed, headlines: Sequence[NewHeadline]) -> dict[str, Document]:
    """Return the documents of headlines, keyed by their ids at the source."""
    documents = (document_of(feed, headline) for headline in headlines)
    return {document.external_id: document for document in documents}


def document_of(feed: Feed, headline: NewHeadline) -> Document:
    """Return the document of a headline: title and summary, with its link."""
    text = "\n\n".join(part for part in (headline.title, headline.summary) if part)
    written = "\0".join((text, headline.link or "")).encode()
    digest = hashlib.blake2b(written, digest_size=8).digest()
    return Document(
        external_id=headline.link or headline.identity,
        text=text,
        search_text=searchable(text),
        created_at=headline.published,
        digest=int.from_bytes(digest, signed=True),
        author=feed.title,
        title=headline.title,
        lang=headline.language,
        url=headline.link,
        tags=(feed.category.casefold(),) if feed.category else (),
    )
