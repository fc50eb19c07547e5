-- What nobody reads any more: docs/decisions/0064-saying-no.md.

-- The page has no votes: its chat goes with the answers that visitors voted for there.
DROP TABLE wall_decision;
DROP TABLE voting_key;
DELETE FROM chat WHERE platform = 'web';

-- Nor are reactions votes: nobody changes the vote buttons below an answer but who presses one.
ALTER TABLE turn DROP COLUMN language;

-- Programs that were told of prophecies had chats of their own, with all that hangs off a chat.
DELETE FROM chat WHERE platform = 'webhook';
