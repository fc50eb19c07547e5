"""The main job: a headline finds the old texts that foretold it.

`prophecy` reads top to bottom: headline, expand, retrieve, distinct, judge, score. It lends
`Prophet` and the order of hits.
"""
