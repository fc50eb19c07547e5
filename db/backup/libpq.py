"""Converts a database URL to the environment variables of PostgreSQL's own programs.

Unlike an argument, a variable does not show in lists of processes.
"""

from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

# The parameters of a URL that programs also read from the environment.
_VARIABLES = {
    "dbname": "PGDATABASE",
    "gssencmode": "PGGSSENCMODE",
    **{name: f"PG{name.upper()}" for name in ("host", "hostaddr", "port", "user", "password")},
    **{name: f"PG{name.upper()}" for name in ("passfile", "sslmode", "sslcert", "sslkey")},
    **{name: f"PG{name.upper()}" for name in ("sslrootcert", "sslcrl", "options")},
    "channel_binding": "PGCHANNELBINDING",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}


def variables(url: str) -> dict[str, str]:
    """Return the environment variables that name the database of `url`.

    Parameters that only concern the session are left out. Raises ValueError if the URL cannot be
    read.
    """
    # Parameters in the query override the parts before it.
    return {_VARIABLES[name]: value for name, value in _parameters(url) if value}


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    parts = urlsplit(url)
    login, _, places = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    yield "user", unquote(user)
    yield "password", unquote(password)
    hosts = [_host_and_port(place) for place in places.split(",")]
    yield "host", ",".join(host for host, _ in hosts)
    yield "port", ",".join(port for _, port in hosts) if any(port for _, port in hosts) else ""
    yield "dbname", unquote(parts.path.removeprefix("/"))
    for name, value in parse_qsl(parts.query):
        if name in _VARIABLES:
            yield name, value
        elif name == "database":  # asyncpg accepts this name as well
            yield "dbname", value


def _host_and_port(place: str) -> tuple[str, str]:
    """Parse "name", "name:5432" or "[::1]:5432"."""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return unquote(host), port
