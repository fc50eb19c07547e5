-- A chat that its admins alone write in and everybody reads: it is not told that it was let in.
ALTER TABLE admission ADD COLUMN broadcast boolean NOT NULL DEFAULT false;
