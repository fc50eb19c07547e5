"""What a face is: requests in, replies out, and what a platform has to be able to do.

Every platform, every command and the conversation speak in these values.
"""
