"""Addresses as PostgreSQL's programs read them from their environment."""

import pytest

from db.backup.programs import _build_variables


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://ana:p%40ss%2F@db.example:5433/tweets",
            {
                "PGUSER": "ana",
                "PGPASSWORD": "p@ss/",
                "PGHOST": "db.example",
                "PGPORT": "5433",
                "PGDATABASE": "tweets",
            },
        ),
        (
            "postgresql://postgres@/presagio?host=%2Frun%2Fa+b&port=5432",
            {
                "PGUSER": "postgres",
                "PGDATABASE": "presagio",
                "PGHOST": "/run/a b",
                "PGPORT": "5432",
            },
        ),
        (
            "postgres://[::1]:5432,other/x?sslmode=require&statement_timeout=5",
            {
                "PGHOST": "::1,other",
                "PGPORT": "5432,",
                "PGDATABASE": "x",
                "PGSSLMODE": "require",
            },
        ),
        ("postgresql://%2Ftmp/x", {"PGHOST": "/tmp", "PGDATABASE": "x"}),
        ("postgresql:///?database=x&password=s", {"PGDATABASE": "x", "PGPASSWORD": "s"}),
    ],
)
def test_a_database_url_becomes_environment_variables(url: str, expected: dict[str, str]) -> None:
    assert _build_variables(url) == expected
