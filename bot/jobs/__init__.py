"""The background jobs: reading feeds, searching, deciding what to post, delivering."""
