"""Retrievers for other libraries (docs/how-to/clients.md). Each module needs its library: extra `integrations`."""
