"""The main job: finding the old texts that foretold a headline.

`prophecy` reads top to bottom: headline, expand, retrieve, distinct, judge, score. Other packages
use `Prophet` and the order of hits.
"""
