"""`presagio corpora`: lists, shows, changes and drops corpora."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.corpora_contents import contents
from bot.cli.shared import (
    Csv,
    Json,
    Name,
    TextOption,
    Yes,
    app_command,
    ask_line,
    confirm,
    parse_account,
)
from bot.console.screen import Output
from db.corpus.placement import Placement
from engine.errors import InputError, UsageError
from engine.values import Corpus, Kind
from engine.vectors import format_percent

if TYPE_CHECKING:
    from bot.app import App

_LARGEST = 2_000_000  # bytes of a picture
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # PNG, JPEG
_SPOKEN = (Kind.TWEETS, Kind.SOCIAL)  # kinds that one voice usually wrote

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, read, export, change, reindex, place and drop corpora.\n\n"
    "Example: presagio corpora list",
)
Author = Annotated[
    str | None,
    typer.Option("--author", help="Account of texts that name none.", callback=parse_account),
]
commands.add_typer(contents)


def picture_in(file: str) -> bytes:
    """Return the bytes of a PNG or JPEG file. Raises InputError."""
    try:
        with Path(file).expanduser().open("rb") as opened:
            content = opened.read(_LARGEST + 1)
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {(exc.strerror or str(exc)).lower()}.") from exc
    if not content.startswith(_SIGNATURES):
        raise InputError(f"{file} is no PNG or JPEG picture.", fix="Save it as one of these.")
    if len(content) > _LARGEST:
        raise InputError(f"{file} is larger than 2 MB.", fix="Make it smaller.")
    return content


async def name_the_author(app: "App", name: str, output: Output) -> None:
    """Ask whose posts a corpus holds if that is unknown; without a terminal, warn."""
    corpus = await app.corpora.get(name)
    if corpus.kind not in _SPOKEN or corpus.author or await app.corpora.names_authors(corpus):
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        question = "Whose posts are these? Name the account, such as @ana (empty: unknown): "
        if author := ask_line(question).removeprefix("@"):
            await app.corpora.change(name, author=author)
            return
    output.remark(
        f"Nothing says whose posts {name} holds, so answers name nobody."
        f' Run: presagio corpora describe {name} --author HANDLE --name "THE NAME"'
    )


def tell_what_next(corpus: Corpus, output: Output) -> None:
    """Say how to ask a new corpus, to a person at a terminal."""
    if output.remarks.isatty():
        ask = 'search "A headline"' if corpus.kind in _SPOKEN else 'ask "A question?"'
        output.remark(f"Next: presagio {ask} --corpus {corpus.name}")


@app_command(commands, "list")
async def list_corpora(app: "App", *, json: Json = False, csv: Csv = False, output: Output) -> None:
    """List all corpora.

    Example: presagio corpora list --json
    """
    corpora, coverage = await app.corpora.list(), await app.embeddings.coverage()
    rows = [
        _corpus_row(corpus) | {"vectors": _find_embedded_share(app, corpus, coverage)}
        for corpus in corpora
    ]
    table = [
        {name: value for name, value in row.items() if name != "outdated"}
        | {"vectors": _format_percent(row["vectors"])}
        for row in rows
    ]
    none = "There is no corpus yet. Load one with: presagio ingest FILE"
    output.rows(rows, table=table, json=json, csv=csv, none=none)
    for name in (row["name"] for row in rows if row["outdated"] and not json):
        output.remark(f"{name} is indexed by older rules. Run: presagio corpora reindex {name}")


@app_command(commands, "show")
async def show_corpus(app: "App", name: Name, *, json: Json = False, output: Output) -> None:
    """Show one corpus.

    Example: presagio corpora show demo
    """
    corpus = await app.corpora.get(name)
    oldest, newest = await app.corpora.span(corpus)
    share = _find_embedded_share(app, corpus, await app.embeddings.coverage())
    items = {"items": await app.corpora.items(corpus)} if corpus.in_parts else {}
    details = {
        "vectors": share if json else _format_percent(share),
        "languages": list(corpus.languages),
        "average_length": round(corpus.average_length, 2),
        "oldest": oldest.isoformat() if oldest else None,
        "newest": newest.isoformat() if newest else None,
        "url_template": corpus.url_template,
        "description": corpus.description,
        "display_name": corpus.display_name,
        "avatar": corpus.has_avatar,
    }
    worker = {"worker": (await Placement(app.database).places()).get(name)} if corpus.placed else {}
    author = {"author": await app.corpora.find_author(corpus)}
    row = _corpus_row(corpus) | author | items | worker | details
    if json:
        output.json(row)
    else:
        for key, value in row.items():
            output.line(f"{key}: {_format_value(value)}")


def _require_author_or_link(author: str | None, url_template: str | None) -> None:
    if author is None and url_template is None:
        raise UsageError("There is nothing to change.", fix="Give --author or --url-template.")


@app_command(commands, "set", before=_require_author_or_link)
async def set_corpus(
    app: "App",
    name: Name,
    *,
    author: Author = None,
    url_template: Annotated[
        str | None,
        TextOption("--url-template", help="Link of a text; {author} and {id} are filled in."),
    ] = None,
    json: Json = False,
    output: Output,
) -> None:
    """Change a corpus.

    Example: presagio corpora set me --url-template "https://example.org/{id}"
    """
    await app.corpora.change(name, author=author, url_template=url_template)
    await show_corpus(app, name, json=json, output=output)


def _require_description(
    description: str | None, author: str | None, display_name: str | None, avatar: str | None
) -> None:
    if (description, author, display_name, avatar) == (None,) * 4:
        raise UsageError(
            "There is nothing to change.", fix="Give --author, --name, --avatar or --description."
        )


@app_command(commands, "describe", before=_require_description)
async def describe_corpus(
    app: "App",
    name: Name,
    *,
    description: Annotated[
        str | None,
        TextOption(
            "--description",
            help="Whose texts these are and what about, for the model; empty takes it away.",
        ),
    ] = None,
    author: Author = None,
    display_name: Annotated[
        str | None,
        TextOption(
            "--name", help='How people know the author, for answers and pictures: "Ana Ruiz".'
        ),
    ] = None,
    avatar: Annotated[
        str | None,
        typer.Option("--avatar", help="Picture of the author, PNG or JPEG; empty takes it away."),
    ] = None,
    json: Json = False,
    output: Output,
) -> None:
    """Say whose texts a corpus holds, for people and for models.

    Example: presagio corpora describe me --author ana --name "Ana Ruiz"
    """
    await app.corpora.change(
        name,
        author=author,
        description=description,
        display_name=display_name,
        avatar=None if avatar is None else picture_in(avatar) if avatar else b"",
    )
    await show_corpus(app, name, json=json, output=output)


def _confirm_drop(name: str, yes: Yes = False) -> None:
    if not yes:
        confirm(f"Remove {name!r} and all it holds?")


@app_command(commands, "drop", before=_confirm_drop)
async def drop_corpus(app: "App", name: Name, *, json: Json = False, output: Output) -> None:
    """Remove a corpus and its documents, after asking.

    Example: presagio corpora drop demo --yes
    """
    documents = await app.corpora.drop(name)
    output.tell(
        {"dropped": name, "documents": documents},
        f"Dropped {name} with {documents:,} documents.",
        json=json,
    )


def _format_value(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(value) or "-"
        case _:
            return str(value or "-")


def _corpus_row(corpus: Corpus) -> dict[str, object]:
    return {
        "name": corpus.name,
        "kind": corpus.kind.value,
        "language": corpus.language,
        "documents": corpus.documents,
        "author": corpus.author,
        "outdated": corpus.is_outdated,
    }


def _find_embedded_share(
    app: "App", corpus: Corpus, coverage: Mapping[str, Mapping[str, float]]
) -> float | None:
    """Return the share of the corpus that the configured model has embedded, None without one."""
    embedder = app.embedders(corpus)
    if embedder.dimensions == 0:
        return None
    return coverage.get(corpus.name, {}).get(embedder.name, 0.0)


def _format_percent(share: object) -> str | None:
    return format_percent(share) if isinstance(share, float) else None
