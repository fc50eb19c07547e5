"""All spellings of a page's address become one, which still leads there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.address import canonical_address, public_address, read_host


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://e.org", "https://e.org/"),
        ("HTTPS://WWW.E.org:443/A?b=C#d", "https://www.e.org/A?b=C"),
        ("http://e.org:80/", "http://e.org/"),
        ("http://e.org:8080/", "http://e.org:8080/"),
        ("https://e.org./a/", "https://e.org/a/"),
        ("https://e.org/?utm_source=x&id=7&fbclid=a%3D&UTM_Term", "https://e.org/?id=7"),
        ("https://e.org/?utmost=1&q=utm_source", "https://e.org/?utmost=1&q=utm_source"),
        ("https://e.org/?b=2&&a=1", "https://e.org/?b=2&a=1"),
        ("https://nación.example/ñ?q=año", "https://xn--nacin-3ta.example/%C3%B1?q=a%C3%B1o"),
        ("https://[2001:DB8::1]:8080/x", "https://[2001:db8::1]:8080/x"),
        ("https://me:pw@e.org/", None),
        ("ftp://e.org/", None),
        ("javascript:alert(1)", None),
        ("https://e.org:99999/", None),
        ("https://e.org/a\nb", None),
        (f"https://e.org/{'x' * 2000}", None),
        (f"https://{'x' * 300}é.org/", None),
        ("https://[::1", None),
        ('https://e.org"><script>/x', None),
    ],
)
def test_urls_are_canonicalised(url: str, canonical: str | None) -> None:
    assert canonical_address(url) == canonical


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://X.com/a", "x.com"),
        ("https://me:pw@e.org:8080", "e.org"),
        ("http://[bad", ""),
        ("https://a℀b.org/x", ""),
        (None, ""),
    ],
)
def test_what_is_no_address_has_no_host(url: str | None, host: str) -> None:
    assert read_host(url) == host


@given(st.text() | st.builds("https://e.org/{}?{}".format, st.text(), st.text()))
def test_a_canonical_address_is_ascii_and_its_own_canonical_address(url: str) -> None:
    address = canonical_address(url)
    if address is not None:
        assert address.isascii()
        assert address.isprintable()
        assert " " not in address
        assert canonical_address(address) == address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/feed", "https://example.org/feed"),
        ("http://127.0.0.1:8080/feed.xml", "http://127.0.0.1:8080/feed.xml"),
        ("https://example.org/feed?token=s3cret", "https://example.org/feed?token=…"),
        ("https://example.org/feed?a=s3cret&b=&c=s3cret", "https://example.org/feed?a=…&b=&c=…"),
        ("https://example.org/feed?s3cret", "https://example.org/feed?…"),
        ("https://me:s3cret@example.org/feed", "https://example.org/feed"),
        ("https://example.org/feed#s3cret", "https://example.org/feed"),
        ("https://example.org/?s3cret&a=b", "https://example.org/?…&a=…"),
        ("https://[s3cret", "…"),
    ],
)
def test_public_address_hides_secrets_in_urls(url: str, shown: str) -> None:
    assert public_address(url) == shown
