"""Settings of the database, and the masking of passwords in its URL."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from engine.settings.section import Section

_USER_PASSWORD = re.compile(r"^(\w+://[^:/?@]*:).*@", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"([?&]\w*password=)[^&]*", re.IGNORECASE)
_DATABASE_SCHEME = re.compile(r"postgres(ql)?://")


def masked_url(url: str) -> str:
    """Return a database URL that is safe to show: passwords become ****.

    The password is taken to end at the last @, so one with an unescaped @ is hidden entirely.
    """
    if not _DATABASE_SCHEME.match(url):
        return "****" if url else ""
    return _QUERY_PASSWORD.sub(r"\1****", _USER_PASSWORD.sub(r"\1****@", url))


def _database_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if text and not _DATABASE_SCHEME.match(text):
        raise ValueError('must begin with "postgresql://", or be empty for the embedded server')
    return url


DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]


class DatabaseSettings(Section):
    """Where the documents are kept."""

    url: DatabaseUrl = Field(
        SecretStr(""),
        description="postgresql://user:password@host:port/name; empty starts the embedded server."
        " The environment variable DATABASE_URL goes before it.",
    )
    replicas: tuple[DatabaseUrl, ...] = Field(
        (),
        description="URLs of streaming standbys of that server: what only reads is asked there,"
        " everything else of the server itself.",
    )
    max_lag: float = Field(
        10,
        gt=0,
        description="Seconds that a standby may be behind; the server answers for one that is."
        " Measured once a second: below 3, standbys of a busy server are hardly used.",
    )
    pool_size: int = Field(
        4, ge=1, le=100, description="Connections that one process may open to each server."
    )
    corpora_per_connection: int = Field(
        50,
        ge=1,
        description="Corpora that a connection may read before another takes its place. Until it"
        " ends, the server remembers their tables: 42 MB for 50, 95 MB for 200.",
    )
    connect_timeout: float = Field(10, gt=0, description="Seconds to wait for a connection.")
    command_timeout: float = Field(
        30, gt=0, description="Seconds after which this program gives a statement up."
    )
    statement_timeout: float = Field(
        30, gt=0, description="Seconds after which the server stops a statement."
    )

    @model_validator(mode="after")
    def _replicas_of_something(self) -> Self:
        if self.replicas and not self.url.get_secret_value():
            raise ValueError("replicas need database.url: the embedded server has none")
        if not all(one.get_secret_value() for one in self.replicas):
            raise ValueError("replicas must not be empty")
        return self
