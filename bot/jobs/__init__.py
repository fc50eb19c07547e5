"""What runs by itself: reading feeds, searching, deciding what to post, delivering."""
