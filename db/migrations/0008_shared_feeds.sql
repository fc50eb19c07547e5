-- Feeds that everybody gets although the settings do not name them: added on the command line.

CREATE TABLE shared_feed (
    url text PRIMARY KEY,
    category text,
    added_at timestamptz NOT NULL
);
