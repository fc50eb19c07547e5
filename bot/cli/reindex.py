"""`presagio corpora reindex`: indexes stored texts by the rules of this version."""

import asyncio
from typing import TYPE_CHECKING

from bot.console.output import Output, progress_bar
from db.corpus.reindexing import Reindexing
from engine.types import Corpus

if TYPE_CHECKING:
    from bot.app import App


async def reindex_corpora(app: "App", name: str, *, json: bool, output: Output) -> None:
    """Reindex one corpus, or all if `name` is "", and write the counts.

    A corpus that is up to date is left alone. Raises CorpusNotFound, StorageError.
    """
    corpora = [await app.corpora.get(name)] if name else await app.corpora.list()
    if not corpora:
        output.remark("There is no corpus.")
    for corpus in corpora:
        documents, changed = await _reindex(Reindexing(app.database), corpus, output=output)
        if json:
            output.json({"corpus": corpus.name, "documents": documents, "changed": changed})
        elif corpus.outdated:
            output.line(f"{corpus.name}: {documents:,} texts indexed anew, {changed:,} changed.")
        else:
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
            output.remark("Stopped. What was indexed stays; the same command completes it.")
            raise
    return documents, changed
