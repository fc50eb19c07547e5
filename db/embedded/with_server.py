"""Run a program beside the embedded server.

`python -m db.embedded.with_server DATA_DIR COMMAND...`

The program finds the server in DATABASE_URL and PostgreSQL's own programs (psql, pg_dump,
pg_restore) first in PATH. Exits with the program's code.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from db.embedded.cluster import find_binaries
from db.embedded.server import EmbeddedServer
from engine.errors import PresagioError


def main(arguments: Sequence[str]) -> int:
    """Return the exit code: the program's, 1 without a server, 2 for wrong arguments."""
    if len(arguments) < 2:
        return _complain("usage: python -m db.embedded.with_server DATA_DIR COMMAND...", 2)
    data_dir, *command = arguments
    try:
        with EmbeddedServer(Path(data_dir)) as server:
            path = os.pathsep.join([str(find_binaries().folder), os.environ.get("PATH", "")])
            environment = os.environ | {"DATABASE_URL": server.url(), "PATH": path}
            return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - what it is for
    except PresagioError as error:
        return _complain(str(error), 1)
    except FileNotFoundError as error:
        return _complain(f"There is no program {error.filename}.", 127)


def _complain(line: str, code: int) -> int:
    sys.stderr.write(f"{line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
