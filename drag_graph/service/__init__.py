"""The service over HTTP (docs/service.md)."""
