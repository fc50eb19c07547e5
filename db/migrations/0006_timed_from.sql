-- When the mode, hour or weekdays of a subscription were set: no post was due before. `since` tells
-- which stories are too old, and stays where only the hour or the weekdays of daily posts change.
ALTER TABLE subscription ADD COLUMN timed_from timestamptz;
UPDATE subscription SET timed_from = since;

CREATE OR REPLACE VIEW subscribed AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.template,
       c.full_answers AS chat_full_answers, c.asked_in AS chat_asked_in, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;

CREATE OR REPLACE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.template,
       c.full_answers AS chat_full_answers, c.asked_in AS chat_asked_in, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id AND s.topic = '';
