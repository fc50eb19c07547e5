"""Parsers of documents: bytes in, paragraphs with headings and pages out.

Blocking, and slow on hostile files. Call them in a process that can be killed.
"""
