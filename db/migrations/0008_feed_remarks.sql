-- What is odd about a feed that can be read, such as guids that stand over different news.
ALTER TABLE feed ADD COLUMN remark text, ADD COLUMN remarked_at timestamptz;
