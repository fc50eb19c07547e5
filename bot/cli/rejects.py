"""The report of the records that an ingest rejected, with one JSON object per record."""

import errno
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

import orjson

from bot.console.screen import printable
from bot.media import give_to_owner, make_folder
from engine.errors import StorageError
from engine.ingest.records import Reject

_SHOWN = 10


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
            with self._mapped():
                self._file.close()
                Path(self._file.name).replace(self.path)

    def add(self, reject: Reject) -> None:
        """Write one record's file, line and reason."""
        said = {
            "file": printable(reject.file),
            "line": reject.line,
            "reason": printable(reject.reason),
            "stored": reject.stored,
        }
        with self._mapped():
            self._opened().write(orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE))
        self.count += not reject.stored
        if len(self._first) < _SHOWN:
            self._first.append(reject)

    def tell(self, remark: Callable[[str], None]) -> None:
        """Report the first rejects and the path of the full report."""
        for reject in self._first:
            remark(f"{reject.file}:{reject.line}: {reject.reason}")
        if self.count:
            remark(f"{self.count:,} records rejected; all of them: {self.path}")

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            make_folder(self.path.parent, within=self.path.parent.parent)
            self._file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - __exit__ closes it
                prefix=f"{self.path.stem}-", dir=self.path.parent, delete=False
            )
            give_to_owner(Path(self._file.name), of=self.path.parent.parent)
        return self._file

    @contextmanager
    def _mapped(self) -> Iterator[None]:
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
