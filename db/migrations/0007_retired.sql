-- What nobody reads any more: docs/decisions/0064-saying-no.md.

-- The page has no votes: its chat goes with the answers that visitors voted for there. When somebody
-- voted told the voters of a day apart.
DROP TABLE wall_decision;
DROP TABLE voting_key;
DELETE FROM chat WHERE platform = 'web';
ALTER TABLE vote DROP COLUMN voted_at;

-- Nor are reactions votes: nobody changes the vote buttons below an answer but who presses one.
ALTER TABLE turn DROP COLUMN language;
