"""Turns files of posts into documents.

`engine.ingest.record_stream.open_source` yields the records of a file, and
`engine.ingest.normalise` turns each into a document. `engine.ingest.isolated_reader` does both in a
separate process, and `engine.ingest.load` stores what changed.
"""
