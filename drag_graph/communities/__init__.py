"""Communities: what the things of the whole graph are about, part by part (docs/communities.md)."""
