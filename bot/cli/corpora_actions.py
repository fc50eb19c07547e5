"""`presagio corpora`: lists, shows, changes and drops corpora."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.cli.voice import picture_in
from bot.console.output import Output
from bot.media import Media
from engine.types import Corpus
from engine.vectors import percent

if TYPE_CHECKING:
    from bot.app import App


async def list_corpora(app: "App", *, json: bool, output: Output) -> None:
    """Write one row per corpus."""
    corpora, coverage = await app.corpora.list(), await app.embeddings.coverage()
    rows = [_row(corpus) | {"vectors": _share(app, corpus, coverage)} for corpus in corpora]
    if json:
        for row in rows:
            output.json(row)
    elif rows:
        output.table(
            [
                {name: value for name, value in row.items() if name != "outdated"}
                | {"vectors": _percent(row["vectors"])}
                for row in rows
            ]
        )
        for name in (row["name"] for row in rows if row["outdated"]):
            output.remark(f"{name} is indexed by older rules. Run: presagio corpora reindex {name}")
    else:
        output.remark("There is no corpus yet. Load one with: presagio ingest FILE")


async def show_corpus(app: "App", name: str, *, json: bool, output: Output) -> None:
    """Write everything about one corpus. Raises CorpusNotFound."""
    corpus = await app.corpora.get(name)
    oldest, newest = await app.corpora.span(corpus)
    share = _share(app, corpus, await app.embeddings.coverage())
    items = {"items": await app.corpora.items(corpus)} if corpus.in_parts else {}
    details = {
        "vectors": share if json else _percent(share),
        "languages": list(corpus.languages),
        "average_length": round(corpus.average_length, 2),
        "oldest": oldest.isoformat() if oldest else None,
        "newest": newest.isoformat() if newest else None,
        "url_template": corpus.url_template,
        "description": corpus.description,
        "display_name": corpus.display_name,
        "avatar": corpus.has_avatar,
    }
    row = _row(corpus) | items | details
    if json:
        output.json(row)
    else:
        for key, value in row.items():
            output.line(f"{key}: {_shown(value)}")


async def set_corpus(
    app: "App",
    name: str,
    *,
    author: str | None = None,
    url_template: str | None = None,
    description: str | None = None,
    display_name: str | None = None,
    avatar: str | None = None,
    json: bool,
    output: Output,
) -> None:
    """Change a corpus and show it; an empty `avatar` removes the picture.

    Raises CorpusNotFound, InputError for a file that is no picture.
    """
    await app.corpora.change(
        name,
        author=author,
        url_template=url_template,
        description=description,
        display_name=display_name,
        avatar=None if avatar is None else picture_in(avatar) if avatar else b"",
    )
    await show_corpus(app, name, json=json, output=output)


async def drop_corpus(app: "App", name: str, *, json: bool, output: Output) -> None:
    """Remove a corpus. Raises CorpusNotFound."""
    corpus = await app.corpora.get(name)
    documents = await app.corpora.drop(name)
    await asyncio.to_thread(Media(app.settings.data_dir).drop, corpus)
    if json:
        output.json({"dropped": name, "documents": documents})
    else:
        output.line(f"Dropped {name} with {documents:,} documents.")


def _shown(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(value) or "-"
        case _:
            return str(value or "-")


def _row(corpus: Corpus) -> dict[str, object]:
    return {
        "name": corpus.name,
        "kind": corpus.kind.value,
        "language": corpus.language,
        "documents": corpus.documents,
        "author": corpus.author,
        "outdated": corpus.outdated,
    }


def _share(app: "App", corpus: Corpus, coverage: Mapping[str, Mapping[str, float]]) -> float | None:
    """Return the share of the corpus that the configured model has embedded, None without one."""
    embedder = app.embedders(corpus)
    if embedder.dimensions == 0:
        return None
    return coverage.get(corpus.name, {}).get(embedder.name, 0.0)


def _percent(share: object) -> str | None:
    return percent(share) if isinstance(share, float) else None
