"""What decides: reads, finds, judges, ranks and writes. It knows no clock, no SQL and no chat."""
