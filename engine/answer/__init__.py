"""A question answered from numbered passages, each claim with its sources.

With a model its sentences are kept only where they cite; without one, sentences are quoted.
"""
