"""Answering a question from numbered passages, each claim with its sources.

With a model, only sentences that cite a passage are kept; without one, sentences are quoted.
"""
