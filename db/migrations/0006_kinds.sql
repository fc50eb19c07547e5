-- Corpora of every kind: where a document comes from and what it belongs to.

-- All that was stored so far are tweets; a default fills old rows without rewriting them.
ALTER TABLE document ADD COLUMN platform text DEFAULT 'x';
ALTER TABLE document ALTER COLUMN platform DROP DEFAULT;
UPDATE document d SET platform = NULL
  FROM corpus c WHERE c.id = d.corpus_id AND c.kind <> 'tweets';
ALTER TABLE document ADD COLUMN thread_id text;    -- conversation, channel or folder
ALTER TABLE document ADD COLUMN attribution text;  -- "export/file#id", "linkedin:post/123"

-- One thread in order. Tweets have none and pay nothing.
CREATE INDEX document_thread ON document (thread_id, created_at, id) WHERE thread_id IS NOT NULL;
