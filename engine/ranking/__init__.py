"""How what was found is ordered: BM25, rankings joined, features combined, near-copies collapsed.

Pure functions that headlines, queries and questions share.
"""
