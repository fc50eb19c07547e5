-- When each subscription is next looked at, so that a round reads only those that may be due: from
-- due_at on; before it certainly nothing is. It is moved by whoever looked, unless `revision` has
-- changed meanwhile.
ALTER TABLE subscription
  ADD COLUMN due_at timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN revision integer NOT NULL DEFAULT 0;
UPDATE subscription s SET due_at = 'infinity' FROM chat c WHERE c.id = s.chat_id AND NOT c.active;
CREATE INDEX subscription_due ON subscription (due_at, chat_id, topic) WHERE mode <> 'off';
CREATE INDEX subscription_instant ON subscription (chat_id) WHERE mode = 'instant';

-- What changes when a chat's posts are due. A chat that is gone is not looked at.
CREATE FUNCTION chat_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE subscription
       SET due_at = CASE WHEN NEW.active THEN timestamptz '-infinity' ELSE 'infinity' END,
           revision = revision + 1
     WHERE chat_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER chat_due
    AFTER UPDATE OF time_zone, quiet_from, quiet_to, corpus, active ON chat
    FOR EACH ROW
    WHEN ((OLD.time_zone, OLD.quiet_from, OLD.quiet_to, OLD.corpus, OLD.active)
          IS DISTINCT FROM (NEW.time_zone, NEW.quiet_from, NEW.quiet_to, NEW.corpus, NEW.active))
    EXECUTE FUNCTION chat_due();

-- Finds that chats which are told at once have not been woken for. A chat may also come to see a
-- story by a headline of a feed of its own.
ALTER TABLE find ADD COLUMN woke boolean NOT NULL DEFAULT true;
ALTER TABLE find ALTER woke SET DEFAULT false;
CREATE INDEX find_waking ON find (corpus) WHERE NOT woke;
CREATE FUNCTION headline_wakes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE find SET woke = false WHERE story_id = NEW.story_id AND woke;
    RETURN NULL;
END
$$;
CREATE TRIGGER headline_wakes AFTER INSERT OR UPDATE OF story_id ON headline
    FOR EACH ROW WHEN (NEW.story_id IS NOT NULL) EXECUTE FUNCTION headline_wakes();

-- Counts what may leave stories to be searched: new ones, and chats that come to see others.
CREATE SEQUENCE news_change;
CREATE FUNCTION news_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('news_change');
    RETURN NULL;
END
$$;
CREATE TRIGGER news_changes AFTER INSERT OR UPDATE OF title, text ON story
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE TRIGGER news_changes AFTER INSERT OR UPDATE OF story_id ON headline
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE TRIGGER news_changes AFTER INSERT OR UPDATE OF mode ON subscription
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE TRIGGER news_changes AFTER UPDATE OF corpus, active ON chat
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE TRIGGER news_changes AFTER INSERT OR UPDATE OR DELETE ON chat_feed
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE TRIGGER news_changes AFTER UPDATE OF configured_url ON feed
    FOR EACH STATEMENT EXECUTE FUNCTION news_changes();
CREATE INDEX chat_corpus ON chat (corpus) WHERE active;
