"""What is left of a server whose first process was killed.

The others end as soon as they wait for something; one that computes goes on, and no new server
starts as long as it holds the old one's memory.
"""

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


def end_orphans(folder: Path) -> None:
    """Kill the processes of the dead server of `folder`: what they had not committed is lost.

    The caller knows that no server of `folder` lives, and keeps others from starting one.
    """
    # Imported here: it is slow to import and hardly ever needed.
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - no type information; see above

    for process in psutil.process_iter():
        try:
            if _is_orphan(process) and Path(process.cwd()).samefile(folder):
                _log.warning("Ending process %d, left by a killed database server", process.pid)
                process.kill()
        except (psutil.Error, OSError):  # it has ended, or nobody may look
            continue


def _is_orphan(process: "psutil.Process") -> bool:  # type: ignore[name-defined]  # noqa: F821 - as above
    """Tell whether it served a connection or did a chore, for a server that has gone."""
    title, parent = " ".join(process.cmdline()), process.parent()
    return title.startswith("postgres: ") and not (parent and parent.name().startswith("postgres"))
