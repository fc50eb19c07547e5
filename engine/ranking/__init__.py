"""Ranking: BM25, rank fusion, weighted features, and collapsing of near-identical texts.

Pure functions that headlines, queries and questions share.
"""
