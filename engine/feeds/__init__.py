"""What is read from the web: fetched safely, within limits."""
