"""Store management: erasing, checking, statistics, export and import."""
