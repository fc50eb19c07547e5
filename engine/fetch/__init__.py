"""Fetches links from strangers, from the public web only and within limits.

Provides `Fetcher` to feeds, to pages and to everything else that reads a link.
"""
