-- Events that a platform was told to forget before they were dealt with.
CREATE TABLE inbox (
    platform text NOT NULL,
    number bigint NOT NULL,
    -- JSON as it came; not jsonb, which knows no character 0.
    content text NOT NULL,
    PRIMARY KEY (platform, number)
);
