-- What all processes that embed a corpus have done together: each shows the progress of all, and one
-- of them brings the indexes up to date.
ALTER TABLE embedding_state
  ADD COLUMN stored bigint NOT NULL DEFAULT 0,   -- vectors ever stored, replaced ones included
  ADD COLUMN settled bigint NOT NULL DEFAULT 0;  -- of these, when indexes were last brought up to date
