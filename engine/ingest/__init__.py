"""Files of posts become documents.

`engine.ingest.detect.open_source` yields the records of a file, and `engine.ingest.normalise`
makes a document of each. `engine.ingest.reading` does both in a process of its own, and
`engine.ingest.load` stores what changed.
"""

from engine.ingest.records import Defaults, Reject, SourceRecord

__all__ = ["Defaults", "Reject", "SourceRecord"]
