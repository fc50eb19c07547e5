-- Who asked, as people see it, so that the owner reads names rather than ids; kept as long as the
-- counts are, for a week.
ALTER TABLE quota ADD COLUMN title text;
