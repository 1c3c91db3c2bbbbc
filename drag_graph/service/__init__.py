"""The HTTP service: one warm process over `DragGraph` (docs/service-keys-and-jobs.md)."""
