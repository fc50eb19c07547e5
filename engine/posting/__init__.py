"""What is posted unasked: to whom, when, and which finds."""
