"""What presagio doctor checks of standbys and of failover."""

import asyncio
from contextlib import suppress

from bot.cli.doctor_checks import Check
from bot.settings.sections import DatabaseSettings
from db.connection import hosts_of
from db.pool import Database
from db.replicas import PROMOTED, ReplicaState

_REPLAY_SECONDS = 3.0


async def standby_checks(database: Database, max_lag: float) -> list[Check]:
    """Return a check for each server, after a moment to replay what was written just now."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_REPLAY_SECONDS):
            while any(standby.answers and not standby.used for standby in database.replicas()):  # noqa: ASYNC110 - a server tells nobody
                await asyncio.sleep(0.1)
    return [_standby_check(standby, max_lag) for standby in database.replicas()]


def failover_check(settings: DatabaseSettings) -> Check:
    """Return the check that tells whether a standby may become the primary without new settings."""
    url = settings.url.get_secret_value()
    hosts = hosts_of(url)
    standbys = [hosts_of(replica.get_secret_value())[0] for replica in settings.replicas]
    every = ",".join(map(str, dict.fromkeys([*hosts, *standbys])))
    detail = f"the server of {', '.join(map(str, hosts))} that takes writes"
    if left_out := [str(standby) for standby in standbys if standby not in hosts]:
        detail = f"database.url does not name {', '.join(left_out)}: promoted, nothing is stored"
    elif "target_session_attrs=" not in url:
        detail += ", but PostgreSQL's own programs may use another"
    elif never := [str(host) for host in hosts if host not in standbys]:
        detail += f"; {', '.join(never)} is never read as a standby, as database.replicas lacks it"
    else:
        return Check(check="failover", ok=True, detail=detail)
    fix = (
        f"Name {every} in database.url, with target_session_attrs=read-write (the one that takes"
        " writes), and each in database.replicas: docs/operating.md"
    )
    return Check(check="failover", ok=None, detail=detail, fix=fix)


def _standby_check(standby: ReplicaState, max_lag: float) -> Check:
    if standby.primary:
        return Check(check=f"standby {standby.name}", ok=True, detail="it is the primary now")
    seconds = standby.behind_seconds
    behind = "" if seconds is None else f"at most {seconds:.1f} s behind"
    fix = None
    if standby.fault == PROMOTED:
        fix = "Two servers take writes: stop the old primary, and copy it anew (docs/operating.md)."
    elif not standby.used:
        fix = f"The database itself answers until it is at most {max_lag:g} s behind."
        if standby.answers:
            fix += " If the database is lost, it is read all the same."
    elif not standby.feedback:
        fix = "Set hot_standby_feedback = on there, or long reads are repeated elsewhere."
    detail = ", ".join(filter(None, [standby.fault, behind]))
    return Check(check=f"standby {standby.name}", ok=standby.used, detail=detail, fix=fix)
