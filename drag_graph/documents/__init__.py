"""Documents (docs/how-to/documents.md): from files to text, from text to passages, from passages to subgraphs."""
