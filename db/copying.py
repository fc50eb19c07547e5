"""COPY from the client that ends when the server is lost."""

from collections.abc import Iterable, Sequence

from db.connection import Connection

# Bytes that may wait to be sent: more than any batch, and never allocated ahead.
_ROOM = 1 << 40


async def copy_records(
    connection: Connection,
    table: str,
    *,
    columns: Sequence[str],
    records: Iterable[tuple[object, ...]],
    timeout: float,  # noqa: ASYNC109 - the server's time, as the driver calls it
) -> None:
    """Copy a batch of records into a table; the server has `timeout` seconds for it.

    A full buffer makes the driver wait until the server reads on. It would wait for ever when
    the server is lost meanwhile, without regard to its own timeout; so the buffer is never full
    and holds the whole batch. Raises the driver's errors.
    """
    transport = connection._transport  # type: ignore[union-attr]  # the driver lends it in no other way
    transport.set_write_buffer_limits(high=_ROOM)
    await connection.copy_records_to_table(table, columns=columns, records=records, timeout=timeout)
