"""Machines that keep their documents and answer locally, and the cloud that they ask when not sure (docs/how-to/sites.md)."""
