-- The texts that were good enough to be posted for the story, that of the row among them: the same news
-- under another headline has some of them.
ALTER TABLE posted ADD COLUMN hits text[] NOT NULL DEFAULT '{}';
