"""Measures the bytes that a document takes in the database: `python -m bench.sizes DATA_DIR`.

DATA_DIR is a copy of a data folder (PRESAGIO_DATA_DIR) with corpora in it; its embedded server is
started, and its tables are brought up to date. For each corpus: its texts with all their indexes,
its postings if it has any, and for each model the vectors and an index of them, which is built for
this and dropped. Vectors of all corpora of a model are in one table. And the bytes of a chat with a
subscription.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from bench.store import opened
from bench.timing import Output, progress
from db.connection import load_statements, name_partition, postings_table
from db.corpus.corpora import Corpora
from db.embedded.server import EmbeddedServer
from db.pool import Database
from db.search.embeddings import Embeddings, KeptModel
from db.search.nearest import embedding_table
from engine.values import Corpus

_INDEX = "bench_sizes_index"
_PATIENCE = 3600  # seconds for an index
_TABLE = "SELECT coalesce(pg_total_relation_size(to_regclass($1)), 0)"
_BOTH = "SELECT pg_total_relation_size('chat') + pg_total_relation_size('subscription')"
_CHATS = 100_000


async def run(url: str) -> None:
    """Measure each corpus."""
    output = Output("sizes")
    database = await opened(url, size=2)
    try:
        models = await Embeddings(database).models()
        for corpus in await Corpora(database).list():
            if corpus.documents:
                progress(f"{corpus.name}: {corpus.documents:,} documents")
                output.row(corpus=corpus.name, **await _texts(database, corpus))
                for model in models:
                    figures = await _vectors(database, corpus, model)
                    output.row(corpus=corpus.name, model=model.name, **figures)
        output.row(**await _chats(database))
    finally:
        await database.close()
    output.table()


async def _texts(database: Database, corpus: Corpus) -> dict[str, object]:
    async with database.connection() as connection:
        texts = await connection.fetchval(_TABLE, name_partition(corpus.id))
        postings = await connection.fetchval(_TABLE, postings_table(corpus.id))
    return {
        "documents": corpus.documents,
        "tokens_each": round(corpus.tokens / corpus.documents, 1),
        "text_bytes": round(texts / corpus.documents),
        "postings_bytes": round(postings / corpus.documents),
    }


async def _vectors(database: Database, corpus: Corpus, model: KeptModel) -> dict[str, object]:
    """Return the bytes of a vector in its table, and in an index of this corpus."""
    table, own = embedding_table(model.id), await Embeddings(database).count(corpus, model.id)
    create = load_statements("embeddings")["index"].format(
        index=_INDEX, embedding=table, corpus=corpus.id
    )
    async with database.own_connection() as connection:
        await connection.execute("SET statement_timeout = 0; SET maintenance_work_mem = '512MB'")
        rows = await connection.fetchval(f"SELECT count(*) FROM {table}")
        size = await connection.fetchval(
            f"SELECT pg_table_size('{table}') + pg_relation_size('{table}_pkey')"
        )
        await connection.execute(create.format(concurrently=""), timeout=_PATIENCE)
        indexed = await connection.fetchval(f"SELECT pg_relation_size('{_INDEX}')")
        await connection.execute(f"DROP INDEX {_INDEX}")
    return {
        "documents": own,
        "dimensions": model.dimensions,
        "vector_bytes": round(size / max(rows, 1)),
        "index_bytes": round(indexed / max(own, 1)),
    }


async def _chats(database: Database) -> dict[str, object]:
    """Return the bytes of a chat that has subscribed; those made for this are taken back."""
    async with database.own_connection() as connection:
        undone = connection.transaction()
        await undone.start()
        before = await connection.fetchval(_BOTH)
        await connection.execute(
            "INSERT INTO chat (platform, external_id, private)"
            " SELECT 'bench', n::text, true FROM generate_series(1, $1::integer) n",
            _CHATS,
        )
        await connection.execute(
            "INSERT INTO subscription (chat_id, mode, at, since)"
            " SELECT id, 'daily', time '09:00', now() FROM chat WHERE platform = 'bench'"
        )
        after = await connection.fetchval(_BOTH)
        await undone.rollback()
    return {"chats": _CHATS, "chat_bytes": round((after - before) / _CHATS)}


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.sizes", description=__doc__)
    parser.add_argument("data", type=Path, help="a copy of a data folder with corpora in it")
    with EmbeddedServer(parser.parse_args(argv).data) as running:
        asyncio.run(run(running.url()))


if __name__ == "__main__":
    main()
