"""Ends the remaining processes of a server whose first process was killed.

Most end as soon as they wait for something, but one that computes goes on, and no new server can
start while it holds the old one's shared memory.
"""

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


def end_orphans(folder: Path) -> None:
    """Kill the processes of the dead server of `folder`; their uncommitted work is lost.

    The caller has checked that no server of `folder` is alive, and prevents others from starting
    one.
    """
    # Imported here because it is slow to import and rarely needed.
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - no type information; see above

    for process in psutil.process_iter():
        try:
            if _is_orphan(process) and Path(process.cwd()).samefile(folder):
                _log.warning("Ending process %d, left by a killed database server", process.pid)
                process.kill()
        except (psutil.Error, OSError):  # it has ended, or may not be inspected
            continue


def _is_orphan(process: "psutil.Process") -> bool:  # type: ignore[name-defined]  # noqa: F821 - as above
    """Tell whether it is a backend or auxiliary process whose server is gone."""
    title, parent = " ".join(process.cmdline()), process.parent()
    return title.startswith("postgres: ") and not (parent and parent.name().startswith("postgres"))
