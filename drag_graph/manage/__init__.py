"""What keeps a store in order: erasing, checking, repairing, statistics, moving."""
