"""What ingest asks and tells about files: how a table is read, into which corpora they are loaded
(each kind into its own, private texts apart), and which records were rejected."""

import errno
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import orjson

from bot.cli.shared import ask_line, confirm, give_to_owner, make_folder, parse_string
from bot.console.screen import Output, make_printable
from engine.errors import CorpusNotFound, StorageError, UsageError
from engine.ingest.records import Reject
from engine.text.language import NAMES
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App
    from engine.ingest.isolated_reader import IsolatedSource
    from engine.ingest.load import IngestReport
    from engine.ingest.records import TableLayout

DEFAULT_LANGUAGE = "english"
SIMPLE = "simple"  # words as they are written, without endings and stop words
_BETWEEN = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}
_ATTEMPTS = 3
_LONGEST = 90  # characters of a record that is shown
_SHOWN = 10
_UNREAD = 8  # files that are not read


def read_columns(written: Sequence[str]) -> Mapping[str, str]:
    """Return the column of each field in "id=tweet_id,text=full_text". Raises UsageError."""
    columns = {}
    for pair in (pair for part in written for pair in part.split(",") if pair.strip()):
        field, sign, column = pair.partition("=")
        if not sign:
            raise UsageError(
                f"--columns {pair!r} names no column.",
                fix="Write the field, =, and the name: --columns text=full_text,created_at=date.",
            )
        columns[field.strip()] = column.strip()
    return columns


def timezone_key(value: str | None) -> str | None:
    """Return "Europe/Madrid" for that name or that of a city. Raises UsageError."""
    from engine.chat import zone_named

    if value is None:
        return None
    zone = zone_named(parse_string(value))
    if zone is None:
        raise UsageError(
            f"There is no time zone {value!r}.", fix="Name one such as Europe/Madrid, or its city."
        )
    return zone.key


def consent_to_tables(
    sources: Sequence["IsolatedSource"], *, yes: bool, output: Output
) -> Mapping[str, str]:
    """Show what was guessed about tables, and ask whether it is right.

    Returns the time zones that were named, by source. Raises PresagioError if it is not right,
    UsageError if there is nobody to ask.
    """
    zones = {}
    for source in sources:
        table = source.opened.table
        if table is None or not table.guessed:
            continue
        for line in describe_table(source.opened.name, table):
            output.remark(line)
        if yes or not table.needs_consent:
            continue
        if table.looks and NAMES[table.looks] != DEFAULT_LANGUAGE:
            name = NAMES[table.looks]
            output.remark(
                f"Its texts look {name.capitalize()}. A new corpus reads them as"
                f" {DEFAULT_LANGUAGE.capitalize()}, unless you tell presagio ingest:"
                f" --language {name}."
            )
        if "timezone" in table.guessed and sys.stdin.isatty():
            zones[source.opened.name] = _ask_for_zone()
            source.set_time_zone(zones[source.opened.name])
        confirm(f"Store {source.opened.name} like this?")
    return zones


def describe_table(name: str, table: "TableLayout") -> Iterator[str]:
    """Yield lines that say how a table is read, and show its first records."""
    between = _BETWEEN.get(table.delimiter)
    shape = f"{between} between its columns" if between else "objects of JSON"
    written = f", written in {_ENCODINGS[table.encoding]}" if table.encoding in _ENCODINGS else ""
    headless = "" if table.has_header else ", without a line that names them"
    yield f"{name} is a table: {shape}{headless}{written}."
    width = max(map(len, table.columns))
    for field_name, column in table.columns.items():
        how = _describe_dates(table) if field_name == "created_at" else ""
        yield f"  {field_name.ljust(width)}  {column}{how}"
    if "id" not in table.columns:
        yield f"  {'id'.ljust(width)}  made from the text, the date, the author and the link"
    if table.unused:
        yield f"  Not read: {', '.join(table.unused)}"
    yield "Its first records:"
    for record in table.first:
        yield f"  {' · '.join(_record_fields(record))}"
    if table.guessed:
        yield (
            "If that is wrong, tell presagio ingest:"
            " --columns text=NAME,created_at=NAME, --timezone, --day-first."
        )


def _describe_dates(table: "TableLayout") -> str:
    guesses = []
    if table.is_day_first is not None:
        guesses.append("day before month" if table.is_day_first else "month before day")
    if table.timezone:
        guesses.append(f"times in {table.timezone}")
    return f" ({', '.join(guesses)})" if guesses else ""


def _record_fields(record: Mapping[str, str]) -> Iterator[str]:
    """Yield what is shown of a record: its date, who wrote it, and its words."""
    for name in ("problem", "created_at", "author", "title", "text"):
        if value := " ".join(record.get(name, "").split()):
            yield value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


async def tell_other_language(
    app: "App", report: "IngestReport", output: Output, *, is_new: bool
) -> None:
    """Say how to have texts searched in the language that they look like, not the corpus's."""
    corpus, looks = await app.corpora.get(report.corpus), report.looks
    if not looks or corpus.language in {NAMES[looks], SIMPLE}:
        return
    language, name = await language_setting(app, looks), NAMES[looks].capitalize()
    again = (
        f"Run: presagio corpora drop {corpus.name} --yes, then presagio ingest again with"
        if is_new
        else "Give them a corpus of their own: --corpus NAME"
    )
    output.remark(
        f"These texts look {name}, but {corpus.name} reads them as {corpus.language.capitalize()}."
        f" {again} --language {language}"
    )


async def language_setting(app: "App", code: str) -> str:
    """Return what `--language` names texts of a language by: its name, if the database has it."""
    return NAMES[code] if NAMES[code] in await app.corpora.languages() else SIMPLE


def _ask_for_zone() -> str:
    for _ in range(_ATTEMPTS):
        zone = ask_line("Time zone of times that name none, such as Europe/Madrid [UTC]: ")
        try:
            return timezone_key(zone or "UTC") or "UTC"
        except UsageError as error:
            sys.stderr.write(f"{error}\n")
    raise UsageError("No time zone was named.", fix="Pass --timezone.")


def count_records(number: int) -> str:
    """Return "1 record" or "2,000 records"."""
    return f"{number:,} record{'s' * (number != 1)}"


@dataclass(frozen=True, slots=True)
class Target:
    """A corpus to fill, which may not exist yet, and the sources that go into it."""

    name: str
    kind: Kind
    known: Corpus | None
    sources: "list[IsolatedSource]"


async def choose_targets(
    app: "App", sources: "Sequence[IsolatedSource]", *, corpus: str, kind: Kind | None
) -> list[Target]:
    """Return the corpora to fill, those of the first files first. Raises UsageError.

    `corpus` and `kind` are what --corpus and --kind name. Without a name it is the configured
    corpus, else one named after the kind. With a name all go into that one, which is personal as
    soon as anything is; what a corpus that exists must not hold goes into NAME-KIND.
    """
    targets: dict[str, Target] = {}
    whole = await _find_target(app, sources, corpus, kind)
    for source in sources:
        target = whole
        if target is None or not fits(source, target.kind):
            if kind or (corpus and not source.is_part):
                raise _explain_unfit(source, target)
            usual = source.opened.kinds[0]
            name = f"{corpus}-{usual.value}" if corpus else usual.value
            target = await _build_target(app, name, usual)
            if not fits(source, target.kind):
                raise _explain_unfit(source, target)
        targets.setdefault(target.name, target).sources.append(source)
    return list(targets.values())


async def _find_target(
    app: "App", sources: "Sequence[IsolatedSource]", corpus: str, kind: Kind | None
) -> Target | None:
    """Return the corpus that is named, on the command line, in the settings or by --kind."""
    if name := corpus or app.settings.search.corpus:
        usual = kind or (choose_kind(sources) if corpus else sources[0].opened.kinds[0])
    elif kind:
        name, usual = kind.value, kind
    else:
        return None
    target = await _build_target(app, name, usual)
    return replace(target, kind=kind) if kind else target


def choose_kind(sources: "Sequence[IsolatedSource]") -> Kind:
    """Return the kind of one corpus for all: personal as soon as anything is.

    Messages that lie among the posts of an account do not make those private.
    """
    kinds = [source.opened.kinds[0] for source in sources if not source.is_direct]
    return Kind.PERSONAL if Kind.PERSONAL in kinds or not kinds else kinds[0]


async def _build_target(app: "App", name: str, kind: Kind) -> Target:
    try:
        stored = await app.corpora.get(name)
    except CorpusNotFound:
        return Target(name, kind, None, [])
    return Target(name, stored.kind, stored, [])


def fits(source: "IsolatedSource", kind: Kind) -> bool:
    """Return whether texts of a source may go into a corpus of a kind; a private one takes all."""
    return kind is Kind.PERSONAL or kind in source.opened.kinds


def _explain_unfit(source: "IsolatedSource", target: Target | None) -> UsageError:
    usual = source.opened.kinds[0].value
    whole = f", and corpus {target.name!r} is {target.kind.value}" if target else ""
    return UsageError(
        f"{source.opened.name} ({source.opened.format}) is {usual}{whole}.",
        fix=f"Give it a corpus of its own: --corpus NAME --kind {usual}.",
    )


def name_unread(sources: "Sequence[IsolatedSource]") -> list[str]:
    """Return the files that are there and not read, with the number of their records."""
    return [
        f"{file.name} ({file.records:,})" if file.records else file.name
        for source in sources
        for file in source.unread
    ]


def tell_unread(sources: "Sequence[IsolatedSource]", output: Output) -> None:
    """Say what is there and not read."""
    unread = [file for source in sources for file in source.unread]
    if not unread:
        return
    more = f", and {len(unread) - _UNREAD:,} more files" if len(unread) > _UNREAD else ""
    output.remark(f"Also there, not read: {', '.join(name_unread(sources)[:_UNREAD])}{more}")
    for file in unread:
        if file.reason:
            output.remark(f"{file.name}: {file.reason}")


@dataclass(slots=True)
class RejectsReport:
    """A report with the file, line and reason of each record that the latest ingest rejected.

    It exists only if a record was rejected. It is written under a temporary name, so that
    concurrent ingests do not interfere. Raises StorageError if it cannot be written.
    """

    path: Path
    count: int = 0
    _first: list[Reject] = field(default_factory=list)
    _file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        with suppress(OSError):  # it does not exist, or the folder is unusable
            self.path.unlink()
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            with self._map_errors():
                self._file.close()
                Path(self._file.name).replace(self.path)

    def add(self, reject: Reject) -> None:
        """Write one record's file, line and reason."""
        entry = {
            "file": make_printable(reject.file),
            "line": reject.line,
            "reason": make_printable(reject.reason),
            "stored": reject.stored,
        }
        with self._map_errors():
            self._open_file().write(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
        self.count += not reject.stored
        if len(self._first) < _SHOWN:
            self._first.append(reject)

    def tell(self, remark: Callable[[str], None]) -> None:
        """Report the first rejects and the path of the full report."""
        for reject in self._first:
            remark(f"{reject.file}:{reject.line}: {reject.reason}")
        if self.count:
            remark(f"{count_records(self.count)} rejected; all of them: {self.path}")

    def _open_file(self) -> IO[bytes]:
        if self._file is None:
            make_folder(self.path.parent, within=self.path.parent.parent)
            self._file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - __exit__ closes it
                prefix=f"{self.path.stem}-", dir=self.path.parent, delete=False
            )
            give_to_owner(Path(self._file.name), of=self.path.parent.parent)
        return self._file

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            full = exc.errno in (errno.ENOSPC, errno.EDQUOT)
            raise StorageError(
                f"The report {self.path} cannot be written: {exc.strerror or exc}.",
                fix="Free some disk space."
                if full
                else f"Let this account write in {self.path.parent}.",
            ) from exc
