"""Whose words a message holds."""

import orjson
import pytest

from engine.errors import UsageError
from engine.ingest.reader import is_mine, role_of
from engine.ingest.records import Defaults
from tests.engine.ingest.reading import TWEET, javascript, records

PLAIN = {"id": "1", "text": "a", "created_at": "2009-05-04T18:54:25Z"}
MINE = Defaults(only_mine=True, author="Ana")


@pytest.mark.parametrize(
    ("owner", "names", "mine"),
    [
        ("Ana", ["bob", "ANA"], True),
        ("@ana ", ["Ana"], True),
        ("ana", ["Bob", None, 5], False),
        ("ana", [], False),
        (None, ["Ana"], None),
        ("", [""], None),
    ],
)
def test_the_name_of_the_owner_is_matched_in_any_spelling(
    owner: object, names: list[object], mine: bool | None
) -> None:
    assert is_mine(owner, *names) is mine


def test_a_role_is_known_where_the_owner_is() -> None:
    assert [role_of(mine) for mine in (True, False, None)] == ["me", "others", None]


def test_only_mine_keeps_plain_records_of_the_named_author() -> None:
    lines = [PLAIN, PLAIN | {"id": "2", "author": "Ana"}, PLAIN | {"id": "3", "author": "Bob"},
             PLAIN | {"id": "4", "is_retweet": True}]  # fmt: skip
    good, rejects = records(b"\n".join(map(orjson.dumps, [*lines, 7])), defaults=MINE)
    assert [record.external_id for record in good] == ["1", "2"]
    assert [reject.reason for reject in rejects] == ["not an object"]


def test_only_mine_without_an_author_is_rejected_for_plain_records() -> None:
    line = orjson.dumps(PLAIN | {"author": "Bob"})
    with pytest.raises(UsageError, match=r"standard input does not say whose it is.*--author"):
        records(line, defaults=Defaults(only_mine=True))


def test_reposts_do_not_count_as_own_text() -> None:
    original = {"user": {"screen_name": "bob"}, "full_text": "Rain"}
    repost = TWEET | {"id_str": "2", "retweeted_status": original}
    content = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}, {"tweet": repost}])
    good, _ = records(content, defaults=MINE)
    assert [record.external_id for record in good] == [TWEET["id_str"]]


def test_unusable_records_are_still_reported_with_only_mine() -> None:
    good, _ = records(orjson.dumps(PLAIN | {"text": ""}), defaults=MINE)
    assert len(good) == 1  # the normaliser says why
