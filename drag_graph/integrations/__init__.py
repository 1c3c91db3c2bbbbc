"""Retrievers for other libraries (docs/integrations.md). Each module needs its library: extra `integrations`."""
