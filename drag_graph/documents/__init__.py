"""Reading in documents (docs/documents.md): files to text, text to passages, passages to subgraphs."""
