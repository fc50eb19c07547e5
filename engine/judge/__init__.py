"""The judgment of a language model: does this text foretell the headline, 0 to 6?

It makes one batched call and treats the answer as untrusted input. Other packages use `Judge`.
"""
