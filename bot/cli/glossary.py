"""`presagio glossary`: lists, decides on and suggests groups of words; reads and writes files."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated

import typer

from bot.app import App
from bot.cli.shared import CorpusName, CorpusOption, Json, app_command, parse_texts, read_input
from bot.console.screen import Output
from bot.glossary_service import GlossaryService, SuggestionResult
from engine.errors import InputError, UsageError
from engine.glossary.groups import AliasGroup, GroupStatus
from engine.text.clean import guard_cell, unguard_cell
from engine.values import Usage

_BETWEEN = " | "
_COLUMNS = ("corpus", "status", "terms")
commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Words that mean the same, so a search for one finds the others."
    '\n\nExample: presagio glossary add Fed "Federal Reserve"',
)
_LARGEST = 2**31 - 1
Ids = Annotated[
    list[int], typer.Argument(help="Numbers of groups, as listed.", min=1, max=_LARGEST)
]
Scope = Annotated[str, CorpusOption(help="For one corpus alone; default: for all.")]


class FileFormat(StrEnum):
    """The format of a glossary file."""

    YAML = "yaml"
    CSV = "csv"


class FileStatus(StrEnum):
    """The status of a group in a file."""

    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryEntry:
    """One group in a file; `corpus` None means all corpora."""

    terms: tuple[str, ...]
    corpus: str | None = None
    status: FileStatus = FileStatus.APPROVED


Form = Annotated[
    FileFormat | None, typer.Option("--format", help="yaml or csv [by the name of the file].")
]


@app_command(commands, "list")
async def list_all(app: App, *, corpus: Scope = "", json: Json = False, output: Output) -> None:
    """List all groups, those that wait too.

    Example: presagio glossary list --corpus me
    """
    groups = await GlossaryService(app).list_groups(corpus or None, None)
    _write_groups(groups, json=json, none="There are no groups yet.", output=output)


@app_command(commands, "pending")
async def list_pending(app: App, *, corpus: Scope = "", json: Json = False, output: Output) -> None:
    """List what waits for a decision.

    Example: presagio glossary pending
    """
    groups = await GlossaryService(app).list_groups(corpus or None, GroupStatus.PENDING)
    _write_groups(groups, json=json, none="Nothing waits.", output=output)


def _write_groups(groups: Sequence[AliasGroup], *, json: bool, none: str, output: Output) -> None:
    table = [
        {
            "id": str(group.id),
            "corpus": group.corpus or "all",
            "status": group.status.value,
            "terms": _BETWEEN.join(group.terms),
            "sure": {True: "yes", False: "no", None: ""}[group.sure],
        }
        for group in groups
    ]
    output.rows(list(map(_build_row, groups)), json=json, none=none, table=table)


@app_command(commands, "approve")
async def approve_groups(app: App, ids: Ids, *, json: Json = False, output: Output) -> None:
    """Let groups hold from now on, in every process.

    Example: presagio glossary approve 3 4
    """
    for group in await GlossaryService(app).approve(None, ids):
        output.tell(
            _build_row(group), f"Approved {group.id}: {_BETWEEN.join(group.terms)}", json=json
        )


@app_command(commands, "reject")
async def reject_groups(
    app: App, ids: Ids, *, now: datetime, json: Json = False, output: Output
) -> None:
    """Refuse what waits. No pair of it is ever suggested again.

    Example: presagio glossary reject 5
    """
    for terms in await GlossaryService(app).reject(None, ids, now=now):
        output.tell(
            {"rejected": list(terms)},
            f"Gone, and never suggested again: {_BETWEEN.join(terms)}",
            json=json,
        )


@app_command(commands, "remove")
async def remove_groups(
    app: App, ids: Ids, *, now: datetime, json: Json = False, output: Output
) -> None:
    """Take groups out, as reject does. Only add brings them back.

    Example: presagio glossary remove 3
    """
    await reject_groups(app, ids, now=now, json=json, output=output)


@app_command(commands, "add")
async def add(
    app: App,
    terms: Annotated[
        list[str], typer.Argument(help="Terms that mean the same.", callback=parse_texts)
    ],
    *,
    corpus: Scope = "",
    now: datetime,
    json: Json = False,
    output: Output,
) -> None:
    """Add a group that holds at once, whatever was rejected before.

    Example: presagio glossary add auth authentication "sign in"
    """
    clean, new = await GlossaryService(app).add(corpus or None, terms, now=now)
    row = {"added": new, "terms": list(clean), "corpus": corpus or None}
    outcome = f"Added for {corpus or 'all corpora'}" if new else "Known already"
    output.tell(row, f"{outcome}: {_BETWEEN.join(clean)}", json=json)


@app_command(commands, "suggest")
async def suggest(
    app: App, corpus: CorpusName = "", *, now: datetime, json: Json = False, output: Output
) -> None:
    """Ask the language model for pairs of a corpus' frequent terms.

    They wait for you to approve or reject them.

    Example: presagio glossary suggest --corpus me
    """
    from engine.glossary.suggest import Suggester

    selected = await app.corpus(corpus)
    if app.client is None:
        raise UsageError(
            "No language model is set up.", fix="Set OPENROUTER_API_KEY, or llm.base_url."
        )
    proposed = await GlossaryService(app).suggest(Suggester(app.client), selected, now=now)
    if json:
        output.json(_proposal_row(selected.name, proposed))
        return
    for word, groups in (("waits", proposed.pending), ("holds", proposed.approved)):
        for pair in groups:
            doubt = "" if pair.sure else " (the model is not sure)"
            output.line(f"{word}: {_BETWEEN.join(pair.terms)}{doubt}")
    if not proposed.pending and not proposed.approved:
        output.line(f"Nothing new among {proposed.asked:,} terms of {selected.name}.")
    elif proposed.pending:
        output.remark("Decide with: presagio glossary approve ID, presagio glossary reject ID")


@app_command(commands, "export")
async def export(app: App, *, format: Form = None, output: Output) -> None:  # noqa: A002 - the option
    """Write the whole glossary to standard output.

    What was rejected is in it too.

    Example: presagio glossary export > glossary.yaml
    """
    groups = GlossaryService(app).groups
    entries = [
        GlossaryEntry(terms=group.terms, corpus=group.corpus, status=FileStatus(group.status))
        for group in await groups.groups()
    ]
    entries += [
        GlossaryEntry(terms=barred.pair, corpus=barred.corpus, status=FileStatus.REJECTED)
        for barred in await groups.rejected_pairs()
    ]
    for line in write_entries(entries, format or FileFormat.YAML).splitlines():
        output.line(line)


def _require_format(file: str, format: FileFormat | None) -> None:  # noqa: A002 - the option
    if format is None:
        format_of(file)


@app_command(commands, "import", before=_require_format)
async def import_file(
    app: App,
    file: Annotated[str, typer.Argument(help="The file; - is standard input.")],
    *,
    format: Form = None,  # noqa: A002 - the option
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Read groups from a file. What was rejected before stays out.

    Example: presagio glossary import glossary.yaml
    """
    entries = read_entries(_read_glossary_text(file), format or format_of(file))
    glossary = GlossaryService(app)
    clean = await _check_entries(glossary, entries)  # none is stored if one is invalid
    counts = Counter({status.value: 0 for status in FileStatus} | {"left_out": 0})
    for entry, terms in zip(entries, clean, strict=True):
        corpus, is_new = await app.corpora.get(entry.corpus) if entry.corpus else None, True
        if entry.status is FileStatus.REJECTED:
            await glossary.groups.bar(corpus, terms, now=now)
        else:
            status = GroupStatus(entry.status)
            is_new = await glossary.groups.propose(corpus, terms, sure=None, status=status, now=now)
        counts[entry.status.value if is_new else "left_out"] += 1
    output.tell(
        dict(counts),
        f"{counts['approved']:,} approved, {counts['pending']:,} pending,"
        f" {counts['rejected']:,} rejected; {counts['left_out']:,} left out:"
        " known, or rejected before.",
        json=json,
    )


def _read_glossary_text(file: str) -> str:
    try:
        return read_input(file).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InputError(f"{file} is not UTF-8.") from exc


async def _check_entries(
    glossary: GlossaryService, entries: Sequence[GlossaryEntry]
) -> list[tuple[str, ...]]:
    """Return the terms of each group as they are stored. Raises InputError for the first that
    cannot be."""
    clean = []
    for number, entry in enumerate(entries, start=1):
        try:
            clean.append(await glossary.check_terms_for(entry.corpus, entry.terms))
        except InputError as error:
            raise InputError(f"Group {number}: {error.message}", fix=error.fix) from error
    return clean


def _build_row(group: AliasGroup) -> dict[str, object]:
    return {
        "id": group.id,
        "corpus": group.corpus,
        "status": group.status.value,
        "terms": list(group.terms),
        "sure": group.sure,
    }


def _proposal_row(corpus: str, proposed: SuggestionResult) -> dict[str, object]:
    answer = proposed.answer
    return {
        "corpus": corpus,
        "asked": proposed.asked,
        "pending": [{"terms": list(p.terms), "sure": p.sure} for p in proposed.pending],
        "approved": [{"terms": list(p.terms), "sure": p.sure} for p in proposed.approved],
        "left_out": proposed.left_out,
        "model": answer.model,
        "prompt_version": answer.prompt_version,
        "damage": dict(answer.damage),
        "usage": asdict(answer.usage or Usage()),
    }


def format_of(path: str) -> FileFormat:
    """Return the format that a file's name implies. Raises UsageError."""
    ending = PurePath(path).suffix.lower()
    if ending in {".yaml", ".yml"}:
        return FileFormat.YAML
    if ending == ".csv":
        return FileFormat.CSV
    raise UsageError(f"{path} is neither YAML nor CSV by its name.", fix="Pass --format.")


def write_entries(entries: Sequence[GlossaryEntry], form: FileFormat) -> str:
    """Return the text of a file."""
    if form is FileFormat.YAML:
        import yaml

        groups = [
            {"terms": list(entry.terms)}
            | ({"corpus": entry.corpus} if entry.corpus else {})
            | {"status": entry.status.value}
            for entry in entries
        ]
        return yaml.safe_dump({"groups": groups}, allow_unicode=True, sort_keys=False)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(_COLUMNS)
    for entry in entries:
        terms = guard_cell(_BETWEEN.join(entry.terms))
        table.writerow((entry.corpus or "", entry.status.value, terms))
    return text.getvalue()


def read_entries(text: str, form: FileFormat) -> list[GlossaryEntry]:
    """Return the entries of a file. Raises InputError, naming the first invalid entry."""
    rows = _yaml_rows(text) if form is FileFormat.YAML else _csv_rows(text)
    return [_read_entry(number, row) for number, row in enumerate(rows, start=1)]


def _yaml_rows(text: str) -> list[object]:
    from engine.text.foreign_data import read_yaml

    try:
        document = read_yaml(text)
    except InputError as exc:
        raise InputError(f"The file is no valid YAML: {exc.message}.") from exc
    groups = document.get("groups") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(groups, list):
        raise InputError('The file holds no list "groups" and nothing else.')
    return groups


def _csv_rows(text: str) -> Iterator[object]:
    try:
        table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
        if tuple(table.fieldnames or ()) != _COLUMNS:
            raise InputError(f"The first line must be: {','.join(_COLUMNS)}")
        for row in table:
            cell = unguard_cell(row.pop("terms", None) or "")
            terms = [term.strip() for term in cell.split("|")]
            yield {**{name: value for name, value in row.items() if value}, "terms": terms}
    except csv.Error as exc:
        raise InputError(f"The file is no CSV: {exc}.") from exc


def _read_entry(number: int, row: object) -> GlossaryEntry:
    """Read one entry, strictly. Raises InputError."""
    if not isinstance(row, Mapping) or not set(row) <= set(_COLUMNS):
        raise InputError(f"Group {number} holds something else than {', '.join(_COLUMNS)}.")
    terms, corpus, status = row.get("terms"), row.get("corpus"), row.get("status", "approved")
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
        raise InputError(
            f"Group {number} has terms that are no text.", fix='Put quotes around them: "no".'
        )
    if corpus is not None and not isinstance(corpus, str):
        raise InputError(f"Group {number} names a corpus that is no text.")
    if status not in set(FileStatus):
        raise InputError(
            f"Group {number} has an unknown status.", fix=f"Use one of: {', '.join(FileStatus)}."
        )
    return GlossaryEntry(terms=tuple(terms), corpus=corpus, status=FileStatus(status))
