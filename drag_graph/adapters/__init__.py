"""Everything that does I/O: stores, models, files."""
