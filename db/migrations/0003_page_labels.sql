-- The pages of a file as they are printed ("iv", "5"), where these are not its pages from 1.
ALTER TABLE item ADD COLUMN page_labels text[];
