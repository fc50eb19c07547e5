"""What may let somebody in is not shown to others."""

import pytest

from engine.text.address import public_address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/feed", "https://example.org/feed"),
        ("http://127.0.0.1:8080/feed.xml", "http://127.0.0.1:8080/feed.xml"),
        ("https://example.org/feed?token=s3cret", "https://example.org/feed?token=…"),
        ("https://example.org/feed?a=s3cret&b=&c=s3cret", "https://example.org/feed?a=…&b=&c=…"),
        ("https://example.org/feed?a=x=s3cret", "https://example.org/feed?a=…"),
        ("https://example.org/feed?s3cret", "https://example.org/feed?…"),
        ("https://me:s3cret@example.org/feed", "https://example.org/feed"),
        ("https://s3cret@example.org:444/", "https://example.org:444/"),
        ("https://example.org/feed#s3cret", "https://example.org/feed"),
        ("https://example.org/?s3cret&a=b", "https://example.org/?…&a=…"),
        ("https://[s3cret", "…"),
    ],
)
def test_public_address_hides_secrets_in_urls(url: str, shown: str) -> None:
    assert public_address(url) == shown
