"""A URL may name several servers: each is found in it, and the latest primary is the one used."""

import pytest

from db.connection import Host, hosts_of


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://u:secret@two.example/x", ["two.example:5432"]),
        ("postgresql://u:se@cret@two:6432/x", ["two:6432"]),
        ("postgresql://u@/x?host=/run/two&port=5433", ["/run/two:5433"]),
        ("postgresql://u@%2Frun%2Ftwo/x", ["/run/two:5432"]),
        ("postgresql://u@one,two:6432/x?target_session_attrs=read-write", ["one:5432", "two:6432"]),
        ("postgresql:///x?host=one,two&port=5433", ["one:5433", "two:5433"]),
        ("postgresql:///x?host=one,two&port=5433,5434", ["one:5433", "two:5434"]),
        ("postgresql://u@[::1]:6432/x", ["::1:6432"]),
        ("postgresql:///x", ["localhost:5432"]),
        ("postgresql://u:secret@one:port/x", ["?:5432"]),
        ("postgresql://u:secret@[one/x", ["?:5432"]),
    ],
)
def test_the_hosts_of_a_url_are_named_without_its_password(url: str, hosts: list[str]) -> None:
    assert [str(host) for host in hosts_of(url)] == hosts


def test_a_host_is_a_name_and_a_port() -> None:
    assert hosts_of("postgresql://u@one:1,two:2/x") == [Host("one", 1), Host("two", 2)]
