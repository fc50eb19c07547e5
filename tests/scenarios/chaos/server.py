"""A database server that is restarted under those who use it."""

import time
from typing import Literal

from db.embedded.os_user import find_binaries, run_as, server_account
from db.embedded.postmaster import State, observe_server, start_postmaster
from db.embedded.server import EmbeddedServer
from tests.patience import PATIENCE

# A crash of the machine may cost this server its data, a crash of its own may not.
CARELESS = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}

StopMode = Literal["fast", "immediate"]


def restart(server: EmbeddedServer, mode: StopMode) -> float:
    """Stop the server and start it again; return how many seconds it was away.

    "immediate" is as good as a crash: it recovers from its log.
    """
    folder, binaries, begun = server.folder, find_binaries(), time.monotonic()
    account = server_account((folder, folder.parent))
    stop = binaries.command("pg_ctl", "-D", ".", "-m", mode, "-t", str(int(PATIENCE)), "-w", "stop")
    code, output = run_as(stop, account, folder=folder)
    assert code == 0 or observe_server(folder)[0] is State.ABSENT, output
    start_postmaster(folder, binaries, account, progress=lambda _: None, seconds=PATIENCE)
    assert observe_server(folder)[0] is State.READY
    return time.monotonic() - begun
