-- Pictures that are the post itself, subscriptions of topics, silent posts, and templates of posts.

DROP VIEW subscriber;

-- A new column, for a change of its type would write the table anew.
ALTER TABLE chat ADD COLUMN pictures text NOT NULL DEFAULT 'off'
      CONSTRAINT chat_picture CHECK (pictures IN ('off', 'on', 'post'));
UPDATE chat SET pictures = 'on' WHERE picture;
ALTER TABLE chat DROP COLUMN picture;
ALTER TABLE chat RENAME COLUMN pictures TO picture;

-- A topic is '' where the subscription is the chat's own; else it is also the thread of its posts.
ALTER TABLE subscription
  ADD COLUMN topic text NOT NULL DEFAULT '',
  ADD COLUMN feeds text[] NOT NULL DEFAULT '{}',
  ADD COLUMN silent boolean NOT NULL DEFAULT false,
  ADD COLUMN template text,
  DROP CONSTRAINT subscription_pkey,
  ADD PRIMARY KEY (chat_id, topic);
ALTER TABLE digest
  ADD COLUMN topic text NOT NULL DEFAULT '',
  DROP CONSTRAINT digest_pkey,
  ADD PRIMARY KEY (chat_id, topic, local_date);
ALTER TABLE delivery ADD COLUMN silent boolean NOT NULL DEFAULT false;

-- Each subscription, of whole chats and of topics, with its chat.
CREATE VIEW subscribed AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.template,
       c.full_answers AS chat_full_answers, c.asked_in AS chat_asked_in, s.compose
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;

-- Each chat with what it wants as a whole; mode is NULL where it never said.
CREATE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.template,
       c.full_answers AS chat_full_answers, c.asked_in AS chat_asked_in, s.compose
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id AND s.topic = '';
