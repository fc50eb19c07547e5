"""`presagio ingest`: its arguments."""

import asyncio
import io
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.ingest_sources import (
    DEFAULT_LANGUAGE,
    RejectsReport,
    Target,
    choose_targets,
    consent_to_tables,
    count_records,
    read_columns,
    tell_other_language,
    tell_unread,
    timezone_key,
)
from bot.cli.shared import (
    CorpusOption,
    Json,
    TextOption,
    Yes,
    parse_account,
    parse_texts,
    settings_of,
    spread_options,
)
from bot.console.screen import Output, progress_bar
from bot.signals import run_until_signal
from engine.errors import InputError, NothingUsable, StorageError, UsageError
from engine.ingest.isolated_reader import IsolatedSource, SourceReader
from engine.ingest.load import IngestReport, Loader
from engine.ingest.records import Defaults
from engine.messages import join_messages
from engine.settings.fetching import IngestSettings
from engine.text.language import NAMES
from engine.values import Corpus, Kind

_LONG = 10.0  # seconds after which the rate is told at the end


if TYPE_CHECKING:
    from bot.app import App
    from bot.settings import Settings


def format_names(incomplete: str) -> Sequence[str]:
    """Return the formats that begin so. The readers are slow to import, and needed for no help."""
    from engine.ingest.detect import READERS

    return [name for name in READERS if name.startswith(incomplete)]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Options from the command line; None means the corpus's value or the default."""

    corpus: Annotated[str, CorpusOption(help="Corpus to fill [named like its kind].")] = ""
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="What it holds [what the format is made for].")
    ] = None
    language: Annotated[
        str | None,
        TextOption("--language", help="Of texts that name none: english, spanish, simple..."),
    ] = None
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            autocompletion=format_names,
            help="Insist on a format; --format ? lists them.",
        ),
    ] = "auto"
    author: Annotated[
        str | None,
        typer.Option(
            "--author",
            help="Account of records that name none; in chats, whose messages are mine.",
            callback=parse_account,
        ),
    ] = None
    description: Annotated[
        str | None,
        TextOption("--description", help="Whose texts these are and what about, for the model."),
    ] = None
    only_mine: Annotated[
        bool, typer.Option("--only-mine", help="Leave out what others wrote, reposts too.")
    ] = False
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="FIELD=NAME,...",
            help="Columns of a table: id=tweet_id,text=full_text,created_at=date.",
            callback=parse_texts,
        ),
    ] = None
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone",
            help="Of times in a table that name none: Europe/Madrid [UTC].",
            callback=timezone_key,
        ),
    ] = None
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first",
            help="Whether 3/4/2019 is in April [what the column shows].",
        ),
    ] = None
    yes: Yes = False
    json: Json = False

    @property
    def defaults(self) -> Defaults:
        """The values for records that do not have their own. Raises UsageError."""
        return Defaults(
            author=self.author,
            only_mine=self.only_mine,
            kind=self.kind,
            language=self.language,
            columns=read_columns(self.columns or ()),
            timezone=self.timezone,
            is_day_first=self.day_first,
        )


@asynccontextmanager
async def open_sources(
    files: Sequence[str], options: IngestOptions, settings: IngestSettings
) -> AsyncIterator[list[IsolatedSource]]:
    """Open all files and recognise their formats; "-" is standard input.

    Raises UsageError for an unknown format, InputError for an unusable file.
    """
    # Standard input without Python's buffer, whose lock a reading thread would hold at exit.
    stdin = io.FileIO(sys.stdin.fileno(), closefd=False) if "-" in files else None
    async with SourceReader(settings) as reader:
        yield [
            source
            for name in files
            for source in await reader.open_all(
                name, format=options.format, defaults=options.defaults, stdin=stdin
            )
        ]


async def ingest_files(
    app: "App", sources: Sequence[IsolatedSource], options: IngestOptions, *, output: Output
) -> list[str]:
    """Load files, each into the corpus that it belongs to, and return the names of these.

    Writes the counts, and what is there and not read. Raises NothingUsable if no record could be
    stored, CorpusConflict, UsageError, and InputError for a file that turns out to be damaged.
    """
    targets = await choose_targets(app, sources, corpus=options.corpus, kind=options.kind)
    for source in sources:
        for guess in source.opened.guesses:
            output.remark(guess)
    if len(sources) > 1:
        for target in targets:
            how = "which all may search"
            if target.kind is Kind.PERSONAL:
                how = f"searched only with --corpus {target.name}"
            for opened in (source.opened for source in target.sources):
                output.remark(
                    f"{opened.name}: {opened.format}, into {target.name} ({target.kind}), {how}"
                )
    names = [await _ingest_into(app, target, options, output) for target in targets]
    tell_unread(sources, output)
    return names


async def _ingest_into(app: "App", target: Target, options: IngestOptions, output: Output) -> str:
    """Load files into one corpus, write the counts, and return its name."""
    sources = target.sources
    corpus, is_new = await _ensure_corpus(app, options, target)
    if not is_new:
        for source in sources:
            source.set_picture_language(corpus.language)
    begun = time.monotonic()
    try:
        report, damage = await _load_sources(app, corpus, sources, output)
    except UsageError:  # the author's own messages cannot be identified
        if is_new:
            await _drop_if_empty(app, corpus)
        raise
    if not report.usable:
        if is_new:
            await _drop_if_empty(app, corpus)
        advice = "See the reasons above" if report.read else "Export it again"
        raise damage or NothingUsable(
            f"Nothing could be stored: {count_records(report.read)} read.",
            fix=f"{advice}, or name the format with --format.",
        )
    if damage:
        output.remark(f"Before that: {_in_words(report)}")
        raise damage
    _write_counts(report, options, output)
    if not options.language:
        await tell_other_language(app, report, output, is_new=is_new)
    if (seconds := time.monotonic() - begun) > _LONG:
        output.remark(f"It took {seconds:,.0f} s: {_format_rate(report, seconds)}.")
    if corpus.is_outdated:
        output.remark(
            f"What was in {corpus.name} before is indexed by older rules."
            f" Run: presagio corpora reindex {corpus.name}"
        )
    return corpus.name


async def _load_sources(
    app: "App", corpus: Corpus, sources: Sequence[IsolatedSource], output: Output
) -> tuple[IngestReport, InputError | None]:
    """Store the records of all files. Returns the counts, and the damage at which a file ended.

    Raises UsageError if a file does not say whose it is, and the errors of the store.
    """
    from db.corpus.documents import Documents

    documents = Documents(app.database)
    if any(source.opened.format == "whatsapp" for source in sources):
        from engine.ingest.formats.whatsapp import WhatsAppReader, renew_ids

        await documents.renew_ids(corpus, WhatsAppReader.name, renew_ids)
    damage: InputError | None = None
    sizes = [source.opened.total_bytes for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with (
        RejectsReport(app.settings.data_dir / "rejects" / f"{corpus.name}.jsonl") as rejects,
        progress_bar(output.remarks, f"ingest {corpus.name}", total) as tell,
    ):
        loader = Loader(
            documents, corpus, rejected=rejects.add, progress=_build_progress(tell, sources)
        )
        try:
            with _tell_what_stays(loader):
                for source in sources:
                    await loader.load(source)
        except InputError as error:
            damage = error
        except asyncio.CancelledError:
            output.remark("Stopped. What was stored stays; the same command completes it.")
            raise
        # Even if nothing changed, as an earlier run may have been interrupted before this.
        await loader.finish()
        await documents.settle(corpus)
    rejects.tell(output.remark)
    return loader.report, damage


@contextmanager
def _tell_what_stays(loader: Loader) -> Iterator[None]:
    """Add to an error of the database how many records were stored before it."""
    try:
        yield
    except StorageError as error:
        stored = loader.report.inserted + loader.report.updated
        if not stored:
            raise
        error.stored_work = f"{stored:,} records of this run are stored and stay."
        error.fix = join_messages(error.fix, error.stored_work)
        raise


async def _ensure_corpus(app: "App", options: IngestOptions, target: Target) -> tuple[Corpus, bool]:
    """Return the corpus to fill and whether it is new; properties not given are kept."""
    name, stored = target.name, target.known
    corpus = await app.corpora.ensure(
        name,
        kind=target.kind,
        language=options.language or (stored.language if stored else DEFAULT_LANGUAGE),
        author=options.author,
        description=options.description,
    )
    author = options.author if corpus.author is None else None
    if author or options.description:
        corpus = await app.corpora.change(name, author=author, description=options.description)
    return corpus, stored is None


async def _drop_if_empty(app: "App", corpus: Corpus) -> None:
    """Drop the corpus if it is empty, as its kind and language may be mistakes."""
    if not (await app.corpora.get(corpus.name)).documents:
        await app.corpora.drop(corpus.name)


def _build_progress(
    tell: Callable[[int, str], None], sources: Sequence[IsolatedSource]
) -> Callable[[IngestReport], None]:
    begun = time.monotonic()

    def progress(report: IngestReport) -> None:
        done = sum(source.bytes_read for source in sources)
        rate = _format_rate(report, time.monotonic() - begun)
        tell(done, f"{report.read:,} read, {report.rejected:,} rejected, {rate}")

    return progress


def _format_rate(report: IngestReport, seconds: float) -> str:
    return f"{report.read / max(seconds, 0.001):,.0f} records a second"


def _write_counts(report: IngestReport, options: IngestOptions, output: Output) -> None:
    row = {"corpus": report.corpus, **_build_counts(report)}
    output.tell(row, _in_words(report), json=options.json)
    if report.replaced:
        output.remark(
            f"{count_records(report.replaced)} gave way to a later one of the same id."
            " If these are other texts, name another column of ids, or none: --columns id="
        )
    if languages := report.languages:
        named = ", ".join(f"{languages[code]:,} {NAMES[code]}" for code in sorted(languages))
        output.remark(f"Languages that the words tell, as the files do not: {named}.")


def _in_words(report: IngestReport) -> str:
    counts = (f"{number:,} {name}" for name, number in _build_counts(report).items())
    return f"{report.corpus}: {', '.join(counts)}"


def _build_counts(report: IngestReport) -> dict[str, int]:
    return {
        "read": report.read,
        "inserted": report.inserted,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "rejected": report.rejected,
    }


@spread_options
def command(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(help="Files, folders or zips of an export; - is standard input.")
    ],
    options: IngestOptions,
) -> None:
    """Store an archive: posts, chats or articles.

    A second run stores only what changed.

    The format is recognised by what the file holds.

    Example: presagio ingest twitter-2024.zip --corpus me --author myhandle
    """
    run_until_signal(_store_files(files, options, settings_of(context)))


async def _store_files(files: Sequence[str], options: IngestOptions, settings: "Settings") -> None:
    from bot.app import open_app
    from bot.cli.corpora import name_the_author, tell_what_next
    from bot.cli.embed import embed_corpora, embed_if_quick

    output = Output.of_process()
    # Opened first, so that a missing file is reported without opening the database.
    async with open_sources(files, options, settings.ingest) as sources:
        consent_to_tables(sources, yes=options.yes, output=output)
        async with open_app(settings, progress=output.remark) as app:
            before = {stored.name for stored in await app.corpora.list()}
            for corpus in await ingest_files(app, sources, options, output=output):
                await name_the_author(app, corpus, output)
                if corpus not in before:
                    tell_what_next(await app.corpora.get(corpus), output)
                if settings.embeddings.at_ingest:
                    await embed_corpora(
                        app, corpus, json=options.json, output=output, leave_out_withheld=True
                    )
                else:
                    await embed_if_quick(app, corpus, output)
