"""Text comes out readable whatever the server says of its encoding."""

import pytest

from engine.page.metadata import decode_page

TEXT = "La Nación, «señal»"
LATIN = TEXT.encode("cp1252")


def declared(name: str) -> bytes:
    return f'<meta charset="{name}">'.encode()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (TEXT.encode(), None),
        (TEXT.encode(), "text/html; charset=iso-8859-1"),  # a server that calls everything so
        (TEXT.encode(), "text/html; charset=nonsense"),
        (LATIN, "text/html; charset=ISO-8859-1"),
        (LATIN, "text/html;charset='windows-1252'"),
        (LATIN, 'text/html; charset = "latin1" '),
        (b"\xef\xbb\xbf" + TEXT.encode(), "text/html; charset=latin-1"),
        (TEXT.encode("utf-16"), None),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "text/html; charset=utf-8"),
    ],
)
def test_text_is_decoded_by_any_declared_encoding(body: bytes, content_type: str | None) -> None:
    assert decode_page(body, content_type) == TEXT


@pytest.mark.parametrize("name", ["iso-8859-1", "windows-1252", "us-ascii", "ISO_8859-1", "latin1"])
def test_the_page_may_declare_its_encoding(name: str) -> None:
    assert decode_page(declared(name) + LATIN, "text/html").endswith(TEXT)
    old = f'<meta http-equiv="Content-Type" content="text/html; charset={name}">'.encode()
    assert decode_page(old + LATIN, None).endswith(TEXT)


def test_the_header_overrides_the_encoding_of_the_page() -> None:
    body = declared("koi8-r") + LATIN
    assert decode_page(body, "text/html; charset=windows-1252").endswith(TEXT)


def test_latin_1_is_read_as_windows_1252() -> None:
    assert decode_page(b"\x93quoted\x94 \xf1", "text/html; charset=iso-8859-1") == "“quoted” ñ"


@pytest.mark.parametrize(
    "name", ["utf-7", "punycode", "idna", "unicode_escape", "zip", "rot13", "x"]
)
def test_encodings_unsuitable_for_pages_are_ignored(name: str) -> None:
    body = declared(name) + b"\xff\\u0041+AEE-"
    assert decode_page(body, f"text/html; charset={name}").endswith("\ufffd\\u0041+AEE-")


def test_unreadable_bytes_are_replaced() -> None:
    assert decode_page(b"a\xffb", None) == "a\ufffdb"
