"""The service over HTTP (docs/how-to/team-service.md)."""
