// The page of a chunk, and the path of headings above it.
ALTER TABLE Chunk ADD page INT64;
ALTER TABLE Chunk ADD heading STRING[];
