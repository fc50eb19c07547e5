"""What strangers link to, fetched from the public web only and within limits.

Lends `Fetcher` to feeds, pages and whoever reads a link.
"""
