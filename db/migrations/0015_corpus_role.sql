-- A corpus knows what it is there for. The two that the program makes went by their names so far.
ALTER TABLE corpus
    ADD COLUMN role text NOT NULL DEFAULT 'archive'
        CHECK (role IN ('archive', 'demonstration', 'news'));
UPDATE corpus SET role = 'demonstration' WHERE name = 'demo';
UPDATE corpus SET role = 'news' WHERE name = 'news';
