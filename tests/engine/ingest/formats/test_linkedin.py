"""LinkedIn's posts and comments."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from engine.corpora import Document
from engine.errors import InputError
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records, table

SHARE = {
    "Date": "2023-01-02 10:11:12",
    "ShareLink": "https://www.linkedin.com/feed/update/urn%3Ali%3Ashare%3A7015",
    "ShareCommentary": "The storm is coming #weather",
    "SharedUrl": "",
    "MediaUrl": "",
    "Visibility": "MEMBER_NETWORK",
}
COMMENT = {
    "Date": "2023-01-03 08:00:00",
    "Link": "https://www.linkedin.com/feed/update/urn%3Ali%3AugcPost%3A99",
    "Message": "So it is",
}


def one(row: Mapping[str, str]) -> Document:
    (document,) = accepted(table(row))
    return document


def test_a_post_says_what_its_row_says() -> None:
    document = one(SHARE)
    assert (document.external_id, document.attribution) == ("7015", "linkedin:post/7015")
    assert (document.text, document.tags) == ("The storm is coming #weather", ("weather",))
    assert moment_of(document).isoformat() == "2023-01-02T10:11:12+00:00"
    assert (document.platform, document.url) == ("linkedin", SHARE["ShareLink"])
    assert document.meta == {"visibility": "MEMBER_NETWORK"}


def test_quotes_around_each_line_are_removed() -> None:
    assert one(SHARE | {"ShareCommentary": 'One"\n""\n"two, "three"'}).text == (
        'One\n\ntwo, "three'
    )


@pytest.mark.parametrize(
    ("fields", "text", "flags"),
    [
        ({"SharedUrl": "https://a.example/b"}, "https://a.example/b", Flag.NONE),
        ({"MediaUrl": "https://m.example/c.jpg"}, "https://m.example/c.jpg", Flag.MEDIA),
    ],
)
def test_a_post_without_text_is_described_by_what_it_shares(
    fields: dict[str, str], text: str, flags: Flag
) -> None:
    document = one(SHARE | {"ShareCommentary": ""} | fields)
    assert (document.text, document.search_text, document.flags) == (text, "", flags)


def test_a_comment_answers_a_post() -> None:
    document = one(COMMENT)
    assert (document.text, document.reply_to, document.thread) == ("So it is", "99", "99")
    assert document.flags == Flag.REPLY
    assert document.attribution == f"linkedin:{document.external_id.replace('-', '/')}"
    assert one(COMMENT | {"Message": "No"}).external_id != document.external_id


def test_escaped_quotes_of_comments_are_read() -> None:
    content = b'Date,Link,Message\n2023-01-03 08:00:00,https://x.example,"He said \\"no, no\\""\n'
    (document,), rejects = documents(content)
    assert (document.text, rejects) == ('He said "no, no"', [])


def test_both_files_of_an_export_are_read(tmp_path: Path) -> None:
    (tmp_path / "Shares.csv").write_bytes(b"\xef\xbb\xbf" + table(SHARE))
    (tmp_path / "Comments.csv").write_bytes(table(COMMENT))
    (tmp_path / "Connections.csv").write_text("First Name,Last Name\n")
    good, rejects = records(tmp_path)
    assert [record.format for record in good] == ["linkedin"] * 2
    assert rejects == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (["2023-01-02 10:11:12", "x"], "2 columns where the first line names 6"),
        (["soon", "x", "y", "", "", ""], "the time 'soon' cannot be read or does not exist"),
        (["2023-01-02 10:11:12", "x", "", "", "", ""], "no text"),
    ],
)
def test_only_the_bad_row_is_rejected(row: Sequence[str], reason: str) -> None:
    content = table(SHARE) + ",".join(row).encode() + b"\n"
    stored, rejects = documents(content)
    assert len(stored) == 1
    assert [(reject.line, reject.reason) for reject in rejects] == [(3, reason)]


def test_a_table_with_other_columns_is_rejected() -> None:
    with pytest.raises(InputError, match="must name Date, ShareLink"):
        records(b"a,b\n1,2\n", form="linkedin")


def test_every_text_counts_as_own() -> None:
    own, _ = records(table(SHARE), defaults=Defaults(only_mine=True))
    assert len(own) == 1
