"""Tasks, metrics and reports: how well the product and its parts do."""
