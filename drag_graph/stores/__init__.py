"""The stores that graphs are kept in: what engines share, and the engines."""
