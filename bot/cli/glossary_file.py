"""Reads and writes glossaries as YAML or CSV files, with one entry per group."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from engine.errors import InputError, UsageError

_COLUMNS = ("corpus", "status", "terms")
_BETWEEN = " | "


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

        groups = [_plain(entry) for entry in entries]
        return yaml.safe_dump({"groups": groups}, allow_unicode=True, sort_keys=False)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for entry in entries:
        table.writerow((entry.corpus or "", entry.status.value, _BETWEEN.join(entry.terms)))
    return text.getvalue()


def read_entries(text: str, form: FileFormat) -> list[GlossaryEntry]:
    """Return the entries of a file. Raises InputError, naming the first invalid entry."""
    rows = _yaml_rows(text) if form is FileFormat.YAML else _csv_rows(text)
    return [_entry(number, row) for number, row in enumerate(rows, start=1)]


def _plain(entry: GlossaryEntry) -> dict[str, object]:
    scope = {"corpus": entry.corpus} if entry.corpus else {}
    return {"terms": list(entry.terms), **scope, "status": entry.status.value}


def _yaml_rows(text: str) -> list[object]:
    from engine.text.foreign_data import read_yaml

    try:
        read_ = read_yaml(text)
    except InputError as exc:
        raise InputError(f"The file is no valid YAML: {exc.message}.") from exc
    groups = read_.get("groups") if isinstance(read_, dict) and len(read_) == 1 else None
    if not isinstance(groups, list):
        raise InputError('The file holds no list "groups" and nothing else.')
    return groups


def _csv_rows(text: str) -> Iterator[object]:
    try:
        table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
        if tuple(table.fieldnames or ()) != _COLUMNS:
            raise InputError(f"The first line must be: {','.join(_COLUMNS)}")
        for row in table:
            terms = [term.strip() for term in (row.pop("terms", None) or "").split("|")]
            yield {**{name: value for name, value in row.items() if value}, "terms": terms}
    except csv.Error as exc:
        raise InputError(f"The file is no CSV: {exc}.") from exc


def _entry(number: int, row: object) -> GlossaryEntry:
    """Read one entry, strictly. Raises InputError."""
    if not isinstance(row, Mapping) or not set(row) <= set(_COLUMNS):
        raise InputError(f"Group {number} holds something else than {', '.join(_COLUMNS)}.")
    terms, corpus, status = row.get("terms"), row.get("corpus"), row.get("status", "approved")
    if not isinstance(terms, list) or not _all_text(terms):
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


def _all_text(found: Iterable[object]) -> bool:
    return all(isinstance(one, str) for one in found)
