"""What all engines share: written once, over statements that have the same names and rows in every dialect."""
