"""`presagio corpora`: list, show, set, drop."""

from bot.app import App
from bot.console.output import Output
from engine.types import Corpus


async def list_corpora(app: App, *, json: bool, output: Output) -> None:
    """Write one row a corpus."""
    rows = [_row(corpus) for corpus in await app.corpora.list()]
    if json:
        for row in rows:
            output.json(row)
    elif rows:
        output.table(rows)
    else:
        output.remark("There is no corpus yet. Load one with: presagio ingest FILE")


async def show_corpus(app: App, name: str, *, json: bool, output: Output) -> None:
    """Write everything about one corpus. Raises CorpusNotFound."""
    corpus = await app.corpora.get(name)
    oldest, newest = await app.corpora.span(corpus)
    row = _row(corpus) | {
        "languages": list(corpus.languages),
        "average_length": round(corpus.average_length, 2),
        "oldest": oldest.isoformat() if oldest else None,
        "newest": newest.isoformat() if newest else None,
        "url_template": corpus.url_template,
    }
    if json:
        output.json(row)
    else:
        for key, value in row.items():
            output.line(f"{key}: {', '.join(value) if isinstance(value, list) else value}")


async def set_corpus(
    app: App,
    name: str,
    *,
    author: str | None,
    url_template: str | None,
    json: bool,
    output: Output,
) -> None:
    """Change a corpus and show it. Raises CorpusNotFound."""
    await app.corpora.change(name, author=author, url_template=url_template)
    await show_corpus(app, name, json=json, output=output)


async def drop_corpus(app: App, name: str, *, json: bool, output: Output) -> None:
    """Remove a corpus. Raises CorpusNotFound."""
    documents = await app.corpora.drop(name)
    if json:
        output.json({"dropped": name, "documents": documents})
    else:
        output.line(f"Dropped {name} with {documents:,} documents.")


def _row(corpus: Corpus) -> dict[str, object]:
    return {
        "name": corpus.name,
        "kind": corpus.kind.value,
        "language": corpus.language,
        "documents": corpus.documents,
        "author": corpus.author,
    }
