// The page of a chunk and the path of headings above it need no schema here; the engines share their numbers.
RETURN 2;
