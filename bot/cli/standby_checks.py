"""The doctor's checks of the standbys: how far each is behind, and why it is not read."""

import asyncio
from contextlib import suppress

from bot.cli.news_checks import Check
from db.pool import Database
from db.replicas.replica import ReplicaState

_REPLAY_SECONDS = 3.0


async def standby_checks(database: Database, max_lag: float) -> list[Check]:
    """Return a check for each standby, after a moment to replay what was written just now."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_REPLAY_SECONDS):
            while any(one.answers and not one.used for one in database.replicas()):  # noqa: ASYNC110 - of a server
                await asyncio.sleep(0.1)
    return [_check(one, max_lag) for one in database.replicas()]


def _check(one: ReplicaState, max_lag: float) -> Check:
    seconds = one.behind_seconds
    behind = "" if seconds is None else f"at most {seconds:.1f} s behind"
    fix = None
    if not one.used:
        fix = f"The database itself answers until it is at most {max_lag:g} s behind."
    elif not one.feedback:
        fix = "Set hot_standby_feedback = on there, or long reads are repeated elsewhere."
    detail = ", ".join(filter(None, [one.fault, behind]))
    return Check(check=f"standby {one.name}", ok=one.used, detail=detail, fix=fix)
