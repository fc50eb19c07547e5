"""Files of posts become documents.

with open_source("export.zip", defaults=defaults) as records:
    for record in records:
        ...  # a Reject, or a SourceRecord whose digest says whether it is new
        document = normalise(record, defaults)  # RecordError: record.reject(str(error))
"""

from engine.ingest.detect import READERS, RecordStream, open_source
from engine.ingest.normalise import normalise
from engine.ingest.records import Defaults, Reject, SourceRecord

__all__ = [
    "READERS",
    "Defaults",
    "RecordStream",
    "Reject",
    "SourceRecord",
    "normalise",
    "open_source",
]
