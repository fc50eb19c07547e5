"""The console face."""
