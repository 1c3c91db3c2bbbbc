"""Store management: erasing, checking, repairing, statistics, export and import."""
