"""Work on what strangers wrote, done in processes that may hang, grow and die."""
