-- What nobody reads any more: docs/decisions/0064-saying-no.md.

-- The page has no votes: its chat goes with the answers that visitors voted for there. When somebody
-- voted told the voters of a day apart.
DROP TABLE wall_decision;
DROP TABLE voting_key;
DELETE FROM chat WHERE platform = 'web';
ALTER TABLE vote DROP COLUMN voted_at;

-- Nor are reactions votes: nobody changes the vote buttons below an answer but who presses one.
ALTER TABLE turn DROP COLUMN language;

-- Why a story was not judged stands in its prophecy; nobody read it beside that.
ALTER TABLE find DROP COLUMN note;

-- Programs that were told of prophecies had chats of their own, with all that hangs off a chat.
DELETE FROM chat WHERE platform = 'webhook';

-- Posts have no templates: those that are owed are worded as usual.
DROP VIEW subscriber, subscribed;
ALTER TABLE subscription DROP COLUMN template;

CREATE VIEW subscribed AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active, c.full_answers AS chat_full_answers,
       c.asked_in AS chat_asked_in,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;

CREATE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active, c.full_answers AS chat_full_answers,
       c.asked_in AS chat_asked_in,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id AND s.topic = '';
