"""The cloud of several sites: it stores summaries of what they know, and asks those that are likely to help."""
