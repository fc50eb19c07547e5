-- A document need not have a date: that of its file tells when it was copied, and passed for the date
-- of writing. What a document names is told apart: its publication, or when its file was made or
-- last changed.
ALTER TABLE document ALTER COLUMN created_at DROP NOT NULL;
ALTER TABLE document ADD COLUMN dated_by text CHECK (dated_by IN ('created', 'modified'));
ALTER TABLE item ALTER COLUMN created_at DROP NOT NULL;

UPDATE item i SET created_at = NULL
 WHERE EXISTS (SELECT FROM document d WHERE d.item_id = i.id AND d.corpus_id = i.corpus_id
                                        AND d.meta ->> 'dated_by' = 'file');
UPDATE document SET created_at = NULL, meta = meta - 'dated_by' WHERE meta ->> 'dated_by' = 'file';
UPDATE document d SET dated_by = CASE d.platform WHEN 'pdf' THEN 'created' ELSE 'modified' END
  FROM item i
 WHERE i.id = d.item_id AND d.platform IN ('pdf', 'docx') AND d.created_at IS NOT NULL;
