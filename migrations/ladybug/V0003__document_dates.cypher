// The day, month or year that a document is from, and the tags that its reader gave it.
ALTER TABLE Source ADD date STRING;
ALTER TABLE Source ADD tags STRING[];
