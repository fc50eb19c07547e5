"""The engine: reading, retrieval, judging, ranking and writing, without clock, SQL or chat."""
