-- What was measured with few documents says nothing: one document gave a mean of 0 and made every
-- text alike. Such corpora go by the scale of their model.
DELETE FROM embedding_scale WHERE documents < 50;

-- A question follows only those that were asked of the same corpus, as the chat named it: what is
-- asked of a private one does not go out with a question about another.
ALTER TABLE question ADD COLUMN corpus text NOT NULL DEFAULT '';
