"""What answers look like on every platform: plain values that faces render."""
