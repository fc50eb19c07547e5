"""The judgment of a language model: does this text describe or entail the headline, 0 to 6?

One batched call; what comes back is read without trust. Lends `Judge`.
"""
