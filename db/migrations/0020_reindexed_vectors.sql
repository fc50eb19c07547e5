-- The rules by which texts were read when vectors that depend on their words were made. 0: they
-- were made before this was stored, and are to be made anew once.
ALTER TABLE embedding_state ADD COLUMN index_version smallint NOT NULL DEFAULT 0;
