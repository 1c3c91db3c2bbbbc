"""What is shown to people and programs beyond the command line: audit documents, pages, pictures."""
