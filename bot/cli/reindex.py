"""`presagio corpora reindex`: indexes stored texts by the rules of this version."""

import asyncio
from typing import TYPE_CHECKING

from bot.console.output import Output, progress_bar
from db.corpus.postings import Postings
from db.corpus.reindexing import Reindexing
from engine.types import Corpus

if TYPE_CHECKING:
    from bot.app import App

_STOPPED = "Stopped. What was indexed stays; the same command completes it."


async def reindex_corpora(app: "App", name: str, *, json: bool, output: Output) -> None:
    """Reindex one corpus, or all if `name` is "", and write the counts.

    A corpus that is up to date is left alone. Raises CorpusNotFound, StorageError.
    """
    corpora = [await app.corpora.get(name)] if name else await app.corpora.list()
    if not corpora:
        output.remark("There is no corpus.")
    for corpus in corpora:
        documents, changed = await _reindex(Reindexing(app.database), corpus, output=output)
        posted = await _post(Postings(app.database), corpus, output=output)
        if json:
            figures = {"documents": documents, "changed": changed, "postings": posted}
            output.json({"corpus": corpus.name, **figures})
            continue
        if corpus.outdated:
            output.line(f"{corpus.name}: {documents:,} texts indexed anew, {changed:,} changed.")
        if posted:
            output.line(f"{corpus.name}: postings stored for {posted:,} texts.")
        if not corpus.outdated and not posted:
            output.line(f"{corpus.name} is up to date.")


async def _reindex(reindexing: Reindexing, corpus: Corpus, *, output: Output) -> tuple[int, int]:
    """Index the remaining texts of a corpus; return how many were indexed and how many changed."""
    documents = changed = 0
    rest = await reindexing.rest(corpus)
    with progress_bar(output.remarks, f"reindex {corpus.name}", corpus.documents) as tell:
        try:
            async for page in reindexing.pages(corpus):
                documents += page.seen
                changed += page.changed
                tell(corpus.documents - rest + documents, f"{changed:,} changed")
        except asyncio.CancelledError:
            output.remark(_STOPPED)
            raise
    return documents, changed


async def _post(postings: Postings, corpus: Corpus, *, output: Output) -> int:
    """Store the postings that a corpus lacks; return how many texts got them."""
    stored = 0
    with progress_bar(output.remarks, f"postings of {corpus.name}", corpus.documents) as tell:
        try:
            async for documents in postings.pages(corpus):
                stored += documents
                tell(stored, "")
        except asyncio.CancelledError:
            output.remark(_STOPPED)
            raise
    return stored
