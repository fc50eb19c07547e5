-- The tables of presagio 0.1.0: corpora and their statistics, models, glossary, chats, news.

CREATE EXTENSION IF NOT EXISTS unaccent;
CREATE EXTENSION IF NOT EXISTS pg_trgm;


--
-- Languages and words
--

-- Makes languages usable that the server knows and the database does not: at first all of them, and
-- later those of a newer server. Each has a text-search configuration: presagio_english,
-- presagio_spanish, presagio_simple...
-- Accented stop words are dropped first (a simple dictionary that accepts nothing), then accents are
-- folded, then the stemmer sees the rest. Folding before the stop list would let "más" and "también"
-- through; stemming before folding would give "también" and "tambien" different lexemes.
CREATE FUNCTION add_languages() RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    source record;
    mapping record;
    stop_words text;
    own_stop_list text;
    added text[] := '{}';
BEGIN
    FOR source IN
        SELECT oid, cfgname FROM pg_catalog.pg_ts_config
         WHERE cfgnamespace = 'pg_catalog'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_ts_config own
                            WHERE own.cfgname = 'presagio_' || pg_ts_config.cfgname)
         ORDER BY cfgname
    LOOP
        EXECUTE format('CREATE TEXT SEARCH CONFIGURATION %I (COPY = pg_catalog.%I)',
                       'presagio_' || source.cfgname, source.cfgname);
        own_stop_list := NULL;
        SELECT (regexp_match(d.dictinitoption, 'stopwords\s*=\s*''([a-z]+)'''))[1]
          INTO stop_words
          FROM pg_catalog.pg_ts_dict d
         WHERE d.dictnamespace = 'pg_catalog'::regnamespace
           AND d.dictname = source.cfgname || '_stem';
        IF stop_words IS NOT NULL THEN
            own_stop_list := 'presagio_' || source.cfgname || '_stop';
            EXECUTE format(
                'CREATE TEXT SEARCH DICTIONARY %I '
                '(TEMPLATE = pg_catalog.simple, STOPWORDS = %I, ACCEPT = false)',
                own_stop_list, stop_words);
        END IF;
        FOR mapping IN
            SELECT t.alias, d.dictname
              FROM pg_catalog.pg_ts_config_map m
              JOIN pg_catalog.pg_ts_dict d ON d.oid = m.mapdict
              JOIN pg_catalog.ts_token_type('default') t ON t.tokid = m.maptokentype
             WHERE m.mapcfg = source.oid
               AND t.alias IN ('asciiword', 'word', 'asciihword', 'hword',
                               'hword_asciipart', 'hword_part')
        LOOP
            EXECUTE format(
                'ALTER TEXT SEARCH CONFIGURATION %I ALTER MAPPING FOR %s WITH %s unaccent, %I',
                'presagio_' || source.cfgname, mapping.alias,
                coalesce(quote_ident(own_stop_list) || ',', ''), mapping.dictname);
        END LOOP;
        EXECUTE format(
            'ALTER TEXT SEARCH CONFIGURATION %I DROP MAPPING IF EXISTS FOR url, url_path',
            'presagio_' || source.cfgname);
        added := added || source.cfgname::text;
    END LOOP;
    RETURN added;
END
$$;

SELECT add_languages();

-- Korean, Japanese and Chinese are read by single characters and pairs of neighbours, as their words
-- are not told apart by blanks: see docs/decisions/0041-text-without-spaces.md. A word of three
-- characters becomes 1 12 2 23 3; a query is read the same way, so its places tell that it is found
-- as it stands. The ranges are those of engine/text/terms.py. Texts with as many bytes as characters,
-- the most in English, need not be looked at.
CREATE FUNCTION has_unspaced(words text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN octet_length(words) > char_length(words) AND words ~ '[\u3005\u3007\u3041-\u3096\u30A1-\u30FA\u30FC-\u30FE\u3131-\u318E\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF]';

CREATE FUNCTION with_pairs(words text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT string_agg(
                   CASE WHEN NOT here THEN character
                        WHEN coalesce(next_here, false)
                        THEN ' ' || character || ' ' || character || next || ' '
                        ELSE ' ' || character || ' ' END, '' ORDER BY place)
          FROM (SELECT character, place, has_unspaced(character) AS here,
                       lead(character) OVER (ORDER BY place) AS next,
                       has_unspaced(lead(character) OVER (ORDER BY place)) AS next_here
                  FROM unnest(string_to_array(words, NULL)) WITH ORDINALITY
                       AS each (character, place)) AS characters);

-- The lexemes of a text that engine.text.clean made searchable. Every text and every query is read
-- by this function. A stemmer that sees no accents takes the end of "manifestaciones" away and not
-- that of "manifestacion", so such a singular, with its accent or without, is read as its plural.
CREATE FUNCTION to_lexemes(language text, words text) RETURNS tsvector
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_tsvector(
        ('presagio_' || language)::regconfig,
        CASE language
            WHEN 'spanish'
            THEN regexp_replace(CASE WHEN has_unspaced(words) THEN with_pairs(words) ELSE words END,
                                '([aAuU][cC][iI])[oOóÓ][nN]\M', '\1ones', 'g')
            ELSE CASE WHEN has_unspaced(words) THEN with_pairs(words) ELSE words END
        END);

--
-- Corpora and documents
--

CREATE TABLE corpus (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    kind text NOT NULL CHECK (kind IN ('tweets', 'social', 'personal', 'published', 'library')),
    language text NOT NULL,
    author text,
    url_template text,
    created_at timestamptz NOT NULL DEFAULT now(),
    documents bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    role text NOT NULL DEFAULT 'archive' CHECK (role IN ('archive', 'demonstration', 'news')),
    description text,         -- whose texts it holds, for the model
    -- The version of the rules by which all of its texts are indexed. Texts of an older version are
    -- indexed anew in the order of ids; `reindexed_to` is how far that is.
    index_version smallint NOT NULL DEFAULT 3,
    reindexed_to bigint,
    -- The highest id of the documents that have postings. NULL: the corpus keeps none;
    -- 9223372036854775807: all have them, whatever comes.
    postings_to bigint,
    display_name text,        -- of its voice
    avatar bytea
);

CREATE TABLE corpus_language (
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    language text NOT NULL,
    documents bigint NOT NULL,
    PRIMARY KEY (corpus_id, language)
);

-- Long texts come in parts: an item is what is cited, its parts are the documents that are searched.

CREATE TABLE item (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    external_id text NOT NULL,
    digest bigint NOT NULL,       -- of the file's bytes, or of the record
    created_at timestamptz NOT NULL,
    title text,
    author text,
    lang text,
    url text,
    attribution text,             -- "folder/file.pdf"
    platform text,                -- what it was read from: pdf, docx, markdown, web...
    pages integer,
    parts integer NOT NULL,
    UNIQUE (corpus_id, external_id)
);

-- One partition a corpus: its index holds its own postings only, and dropping it is instant.
CREATE TABLE document (
    id bigint GENERATED ALWAYS AS IDENTITY,
    corpus_id integer NOT NULL,
    length integer NOT NULL DEFAULT 0,
    max_tf smallint NOT NULL DEFAULT 0,
    flags integer NOT NULL DEFAULT 0,
    engagement integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    digest bigint NOT NULL,
    external_id text NOT NULL,
    language text NOT NULL,
    tsv tsvector NOT NULL,
    text text NOT NULL,
    search_text text NOT NULL,
    context text,
    context_search_text text,
    author text,
    title text,
    role text,
    lang text,
    url text,
    reply_to text,
    tags text[] NOT NULL DEFAULT '{}',
    mentions text[] NOT NULL DEFAULT '{}',
    meta jsonb NOT NULL DEFAULT '{}',
    platform text,
    thread_id text,           -- conversation, channel or folder
    attribution text,         -- "export/file#id", "linkedin:post/123"
    -- These are null in whole documents, which pay nothing for them.
    item_id bigint,
    part integer,             -- from 1
    heading text,             -- those above the part, outermost first: "Results > Prices"
    page integer,             -- where the part begins, from 1
    last_page integer,
    PRIMARY KEY (corpus_id, id),
    UNIQUE (corpus_id, external_id)
) PARTITION BY LIST (corpus_id);

-- Postings by class of document (see docs/decisions/0004-retrieval.md): within a class the
-- highest possible BM25 part of a term is known, so a threshold prunes well.
CREATE INDEX document_tsv_once_short ON document USING gin (tsv) WHERE max_tf = 1 AND length < 7;
CREATE INDEX document_tsv_once_middle ON document USING gin (tsv) WHERE max_tf = 1 AND length >= 7 AND length < 12;
CREATE INDEX document_tsv_once_long ON document USING gin (tsv) WHERE max_tf = 1 AND length >= 12;
CREATE INDEX document_tsv_twice_short ON document USING gin (tsv) WHERE max_tf = 2 AND length < 13;
CREATE INDEX document_tsv_twice_middle ON document USING gin (tsv) WHERE max_tf = 2 AND length >= 13 AND length < 21;
CREATE INDEX document_tsv_twice_long ON document USING gin (tsv) WHERE max_tf = 2 AND length >= 21;
CREATE INDEX document_tsv_often_short ON document USING gin (tsv) WHERE max_tf > 2 AND length < 19;
CREATE INDEX document_tsv_often_long ON document USING gin (tsv) WHERE max_tf > 2 AND length >= 19;
CREATE INDEX document_created ON document (created_at);

-- One thread in order. Tweets have none and pay nothing.
CREATE INDEX document_thread ON document (thread_id, created_at, id) WHERE thread_id IS NOT NULL;
-- The answers to a post.
CREATE INDEX document_reply_to ON document (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX document_item ON document (item_id, part) WHERE item_id IS NOT NULL;

CREATE TABLE lexeme (
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    lexeme text COLLATE "C" NOT NULL,
    document_frequency integer NOT NULL,  -- 0 once the last document that held it is gone
    max_tf smallint NOT NULL,  -- an upper bound: it does not fall when documents go
    PRIMARY KEY (corpus_id, lexeme)
) WITH (fillfactor = 80);
CREATE INDEX lexeme_trigram ON lexeme USING gin (lexeme gin_trgm_ops);

-- What is searched, and the figures that BM25 takes from it.
CREATE FUNCTION document_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.tsv := to_lexemes(
        NEW.language,
        CASE WHEN NEW.context_search_text IS NULL THEN NEW.search_text
             ELSE NEW.search_text || ' ' || NEW.context_search_text END);
    SELECT coalesce(sum(cardinality(positions)), 0), coalesce(max(cardinality(positions)), 0)
      INTO NEW.length, NEW.max_tf
      FROM unnest(NEW.tsv);
    RETURN NEW;
END
$$;
CREATE TRIGGER document_index
    BEFORE INSERT OR UPDATE OF search_text, context_search_text, language ON document
    FOR EACH ROW EXECUTE FUNCTION document_index();

-- Statistics follow every statement, set-based and in one order, so that they are exact at
-- each commit. Writers of one corpus queue on its row, which they lock first.
CREATE FUNCTION document_statistics() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO lexeme AS known (corpus_id, lexeme, document_frequency, max_tf)
        SELECT d.corpus_id, u.lexeme, count(*), max(cardinality(u.positions))
          FROM new_rows d, unnest(d.tsv) u
         GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (corpus_id, lexeme) DO UPDATE
           SET document_frequency = known.document_frequency + excluded.document_frequency,
               max_tf = greatest(known.max_tf, excluded.max_tf);
        INSERT INTO corpus_language AS known (corpus_id, language, documents)
        SELECT corpus_id, language, count(*) FROM new_rows GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (corpus_id, language) DO UPDATE
           SET documents = known.documents + excluded.documents;
        UPDATE corpus c SET documents = c.documents + n.documents, tokens = c.tokens + n.tokens
          FROM (SELECT corpus_id, count(*) AS documents, sum(length) AS tokens
                  FROM new_rows GROUP BY 1) n
         WHERE c.id = n.corpus_id;
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE lexeme known SET document_frequency = known.document_frequency - gone.df
          FROM (SELECT d.corpus_id, u.lexeme, count(*) AS df
                  FROM old_rows d, unnest(d.tsv) u GROUP BY 1, 2) gone
         WHERE known.corpus_id = gone.corpus_id AND known.lexeme = gone.lexeme;
        UPDATE corpus_language known SET documents = known.documents - gone.documents
          FROM (SELECT corpus_id, language, count(*) AS documents
                  FROM old_rows GROUP BY 1, 2) gone
         WHERE known.corpus_id = gone.corpus_id AND known.language = gone.language;
        UPDATE corpus c SET documents = c.documents - n.documents, tokens = c.tokens - n.tokens
          FROM (SELECT corpus_id, count(*) AS documents, sum(length) AS tokens
                  FROM old_rows GROUP BY 1) n
         WHERE c.id = n.corpus_id;
    ELSE
        INSERT INTO lexeme AS known (corpus_id, lexeme, document_frequency, max_tf)
        SELECT corpus_id, lexeme, sum(df), max(tf)
          FROM (SELECT d.corpus_id, u.lexeme, 1 AS df, cardinality(u.positions) AS tf
                  FROM new_rows d, unnest(d.tsv) u
                UNION ALL
                SELECT d.corpus_id, u.lexeme, -1, 0 FROM old_rows d, unnest(d.tsv) u) change
         GROUP BY 1, 2 HAVING sum(df) <> 0 OR max(tf) > 1 ORDER BY 1, 2
        ON CONFLICT (corpus_id, lexeme) DO UPDATE
           SET document_frequency = known.document_frequency + excluded.document_frequency,
               max_tf = greatest(known.max_tf, excluded.max_tf);
        INSERT INTO corpus_language AS known (corpus_id, language, documents)
        SELECT corpus_id, language, sum(n)
          FROM (SELECT corpus_id, language, 1 AS n FROM new_rows
                UNION ALL SELECT corpus_id, language, -1 FROM old_rows) change
         GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
        ON CONFLICT (corpus_id, language) DO UPDATE
           SET documents = known.documents + excluded.documents;
        UPDATE corpus c SET tokens = c.tokens + n.tokens
          FROM (SELECT corpus_id, sum(length) AS tokens
                  FROM (SELECT corpus_id, length FROM new_rows
                        UNION ALL SELECT corpus_id, -length FROM old_rows) change
                 GROUP BY 1) n
         WHERE c.id = n.corpus_id AND n.tokens <> 0;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM corpus_language WHERE documents <= 0;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER document_inserted AFTER INSERT ON document
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_statistics();
CREATE TRIGGER document_updated AFTER UPDATE ON document
    REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_statistics();
CREATE TRIGGER document_deleted AFTER DELETE ON document
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_statistics();

-- How often a document says a lexeme. ts_rank of a single lexeme with all weights 1 is
-- (1 + 1/4 + ... + 1/tf^2) / (pi^2/6), and what that sum lacks to its limit is close to
-- 1 / (tf + 1/2): rounding gives tf back exactly, much faster than unnesting.
CREATE FUNCTION term_frequency(document tsvector, term tsquery)
    RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN round(
        1 / (1.6449340668482264::float8 * (1 - ts_rank('{1,1,1,1}', document, term))) - 0.5);

-- One term's part of BM25 in a document: tf (k1 + 1) / (tf + norm), where norm is
-- k1 (1 - b + b length / average length). The body names each argument once and has no
-- subquery, so that the planner puts it in line.
CREATE FUNCTION bm25_part(document tsvector, term tsquery, k1 float8, norm float8)
    RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (k1 + 1) / (1 + norm / term_frequency(document, term));

-- Postings of corpora of long texts: one row for each lexeme of each document, in a table a corpus
-- that is made when the first of them is stored. See docs/decisions/0030-postings.md. They follow
-- every statement. The corpus is locked as by those who fill its table, so that a
-- document gets its postings either from them or from here.
CREATE FUNCTION document_postings() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept record;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        FOR kept IN
            SELECT c.id FROM corpus c
             WHERE c.postings_to IS NOT NULL
               AND EXISTS (SELECT FROM old_rows o WHERE o.corpus_id = c.id)
             ORDER BY c.id FOR NO KEY UPDATE
        LOOP
            EXECUTE format(
                'DELETE FROM postings_%1$s p USING old_rows o, unnest(o.tsv) u
                  WHERE o.corpus_id = %1$s AND p.lexeme = u.lexeme AND p.document = o.id'
                || CASE TG_OP WHEN 'UPDATE' THEN
                ' AND NOT EXISTS (
                      SELECT FROM new_rows n
                       WHERE n.corpus_id = o.corpus_id AND n.id = o.id
                         AND n.length = o.length AND n.tsv = o.tsv)' ELSE '' END, kept.id);
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        FOR kept IN
            SELECT c.id, c.postings_to FROM corpus c
             WHERE c.postings_to IS NOT NULL
               AND EXISTS (SELECT FROM new_rows n WHERE n.corpus_id = c.id)
             ORDER BY c.id FOR NO KEY UPDATE
        LOOP
            EXECUTE format(
                'INSERT INTO postings_%1$s (document, length, tf, lexeme)
                 SELECT n.id, n.length, cardinality(u.positions), u.lexeme
                   FROM new_rows n, unnest(n.tsv) u
                  WHERE n.corpus_id = %1$s AND n.id <= %2$s'
                || CASE TG_OP WHEN 'UPDATE' THEN
                ' AND NOT EXISTS (
                      SELECT FROM old_rows o
                       WHERE o.corpus_id = n.corpus_id AND o.id = n.id
                         AND o.length = n.length AND o.tsv = n.tsv)' ELSE '' END
                -- In the order of the index: a batch says most of its lexemes more than once.
                || ' ORDER BY u.lexeme COLLATE "C", n.id', kept.id, kept.postings_to);
        END LOOP;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER document_postings_inserted AFTER INSERT ON document
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();
CREATE TRIGGER document_postings_updated AFTER UPDATE ON document
    REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();
CREATE TRIGGER document_postings_deleted AFTER DELETE ON document
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();

-- The domain whose page a document is, without "www.", and those above it.
CREATE FUNCTION domains_of(meta jsonb, url text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT coalesce(array_agg(array_to_string(host.labels[i:], '.') ORDER BY i), '{}')
          FROM (SELECT string_to_array(regexp_replace(lower(coalesce(
                           meta ->> 'domain', substring(url FROM '^\w+://(?:[^/@]*@)?([^/:?#]+)'))),
                       '^www\.', ''), '.') AS labels) host,
               generate_subscripts(host.labels, 1) AS i);

--
-- Vectors
--

-- What is known about vectors. The vectors themselves are in one table a model, made when the
-- first of them is stored: they need the extension pgvector, which not every server has.
CREATE TABLE embedding_model (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    dimensions integer NOT NULL CHECK (dimensions > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Cosines that a model gives within a corpus.
CREATE TABLE embedding_scale (
    model_id integer NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    documents bigint NOT NULL,  -- that had a vector when it was measured
    mean float8 NOT NULL,
    deviation float8 NOT NULL,
    same float8 NOT NULL,
    PRIMARY KEY (model_id, corpus_id)
);

-- How far the vectors of a corpus are: the share of it that has been embedded decides whether a
-- search by meaning is an honest one. Counted where vectors are stored; to count them for each
-- search would take longer than to search.
CREATE TABLE embedding_state (
    model_id integer NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    embedded bigint NOT NULL DEFAULT 0,     -- documents, those included that say nothing
    generation integer NOT NULL DEFAULT 0,  -- a higher one: all vectors are to be made anew
    -- Of vectors that depend on the corpus: the share of documents that hold each of its most
    -- frequent lexemes, when this generation began.
    shares jsonb NOT NULL DEFAULT '{}',
    -- The rules by which texts were read when vectors that depend on their words were made.
    index_version smallint NOT NULL DEFAULT 0,
    -- What all processes that embed a corpus have done together: each shows the progress of all, and
    -- one of them brings the indexes up to date.
    stored bigint NOT NULL DEFAULT 0,   -- vectors ever stored, replaced ones included
    settled bigint NOT NULL DEFAULT 0,  -- of these, when indexes were last brought up to date
    PRIMARY KEY (model_id, corpus_id)
);

-- Texts that a model on this machine breaks down over: they are not given to it again.
CREATE TABLE set_aside_text (
    model text NOT NULL,
    source uuid NOT NULL,           -- tells the text from others, as in the tables of vectors
    characters integer NOT NULL,
    set_aside_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (model, source)
);

-- Vectors of texts that are gone or have changed, in the tables of all models.
CREATE FUNCTION forget_vectors(of_corpus integer, documents bigint[]) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    model integer;
BEGIN
    FOR model IN SELECT id FROM embedding_model WHERE to_regclass('embedding_' || id) IS NOT NULL LOOP
        EXECUTE format(
            'WITH gone AS (DELETE FROM embedding_%s
                            WHERE corpus_id = $1 AND document_id = ANY ($2) RETURNING 1)
             UPDATE embedding_state SET embedded = embedded - (SELECT count(*) FROM gone)
              WHERE model_id = %s AND corpus_id = $1', model, model)
        USING of_corpus, documents;
    END LOOP;
END
$$;

--
-- The glossary
--

-- Groups of words that mean the same, and the pairs that people said do not.
CREATE TABLE alias_group (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus_id integer REFERENCES corpus ON DELETE CASCADE,  -- NULL: of every corpus
    status text NOT NULL CHECK (status IN ('pending', 'approved')),
    terms text[] NOT NULL CHECK (cardinality(terms) >= 2),
    -- The terms normalised and sorted: the same in any order and case.
    keys text[] NOT NULL CHECK (cardinality(keys) = cardinality(terms)),
    sure boolean,  -- what the model said of its suggestion; NULL: a person's own
    created_at timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (corpus_id, keys)
);

CREATE TABLE rejected_alias (
    corpus_id integer REFERENCES corpus ON DELETE CASCADE,  -- NULL: in every corpus
    first text COLLATE "C" NOT NULL,
    second text COLLATE "C" NOT NULL CHECK (first < second),
    rejected_at timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (corpus_id, first, second)
);

-- Counts the changes: every process reads it with the corpus and knows when to read the groups
-- anew. 0: there never was one. Its row is also what writers queue on.
CREATE TABLE glossary_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version bigint NOT NULL
);
INSERT INTO glossary_version (version) VALUES (0);

CREATE FUNCTION glossary_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE glossary_version SET version = version + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER alias_group_changed AFTER INSERT OR UPDATE OR DELETE ON alias_group
    FOR EACH ROW EXECUTE FUNCTION glossary_changed();
CREATE TRIGGER rejected_alias_changed AFTER INSERT OR UPDATE OR DELETE ON rejected_alias
    FOR EACH ROW EXECUTE FUNCTION glossary_changed();

--
-- What a language model was paid for, and pages of the web
--

CREATE TABLE judgment (
    key text PRIMARY KEY,
    scores jsonb NOT NULL,  -- [[candidate id, 0..6], ...]
    model text,
    prompt_version text,
    created_at timestamptz NOT NULL
);
CREATE INDEX judgment_created ON judgment (created_at);

CREATE TABLE model_call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    called_at timestamptz NOT NULL,
    purpose text NOT NULL,
    model text NOT NULL,
    prompt_tokens integer,  -- NULL: the endpoint did not say
    completion_tokens integer,
    cost_usd double precision,
    source text NOT NULL DEFAULT 'console'  -- who had it asked
);
CREATE INDEX model_call_called ON model_call (called_at);

-- A call counts as what it may come to until it is recorded, or until its process must be gone.
CREATE TABLE model_call_under_way (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    tokens integer NOT NULL,
    cost_usd double precision NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Phrases that a model says the account of a corpus would have written.
CREATE TABLE expansion (
    key text PRIMARY KEY,
    phrases text[] NOT NULL,
    model text,
    prompt_version text,
    created_at timestamptz NOT NULL
);
CREATE INDEX expansion_created ON expansion (created_at);

-- Answers to questions.
CREATE TABLE model_answer (
    key text PRIMARY KEY,
    claims jsonb NOT NULL,  -- [[text, [number of a passage, ...]], ...]
    model text,
    prompt_version text,
    damage jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX model_answer_created ON model_answer (created_at);

-- Pages of the web that were read lately, by the canonical address that they were asked for by.
CREATE TABLE web_cache (
    address text PRIMARY KEY,
    url text NOT NULL,          -- where the fetch ended, after redirects
    title text,
    author text,
    site text,
    published_at timestamptz,
    text text NOT NULL,
    etag text,
    last_modified text,
    fetched_at timestamptz NOT NULL,
    bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(text)) STORED
);
CREATE INDEX web_cache_fetched ON web_cache (fetched_at);

--
-- The search log: what was asked, for the one who runs the bot and for the glossary
--

-- A text is there only where it was put to the search on purpose: docs/decisions/0016-search-log.md.
CREATE TABLE search_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asked_at timestamptz NOT NULL,
    task text NOT NULL,       -- what it was made for: an event, a run of a command or of an agent
    origin text NOT NULL CHECK (origin IN ('console', 'chat', 'agent')),
    job text NOT NULL CHECK (job IN ('find', 'search', 'ask')),
    corpus text,
    query text,               -- NULL where it is somebody's message
    query_hash text NOT NULL, -- tells repetitions, with a key that is this database's own
    expanded text,
    filters text[] NOT NULL,  -- as the dialect writes them; names alone where the query is NULL
    plan text,
    counts jsonb NOT NULL,
    returned text[] NOT NULL, -- ids of documents, best first
    milliseconds real NOT NULL,
    prompt_tokens integer,
    completion_tokens integer,
    cost_usd double precision,
    error text,               -- the name of an error, never its message
    platforms text[] NOT NULL DEFAULT '{}'  -- of what was found
);
CREATE INDEX search_log_asked ON search_log (asked_at);

CREATE TABLE search_log_key (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO search_log_key DEFAULT VALUES;

--
-- Leases
--

-- Rights that one process holds at a time, such as deciding for all what is due. They are rows in
-- place of locks of a session, which mean nothing behind a pooler.
CREATE TABLE lease (
    name text PRIMARY KEY,
    holder text NOT NULL,      -- host:process:random
    fence bigint NOT NULL,     -- rises whenever the lease is taken
    renewals bigint NOT NULL,  -- since it was taken
    seconds float8 NOT NULL,   -- that it holds without being renewed
    expires_at timestamptz NOT NULL  -- '-infinity': released
);

-- Whether the holder of a lease lives, by the database's clock. A lease that ends later than it
-- could have been taken for was left by a clock that has been set back.
CREATE FUNCTION lease_holds(expires_at timestamptz, seconds float8) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN expires_at > clock_timestamp()
           AND expires_at <= clock_timestamp() + make_interval(secs => seconds);

-- The numbers of leases rise, also where a lease was deleted and is taken again.
CREATE SEQUENCE lease_fence;

-- Whoever looks for a lease that was deleted takes it at once, while its holder still relies on it.
CREATE FUNCTION keep_held_leases() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    held lease;
BEGIN
    IF TG_OP = 'DELETE' THEN
        held := OLD;
    ELSE
        SELECT * INTO held FROM lease WHERE lease_holds(expires_at, seconds) LIMIT 1;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'the lease "%" is held by %', held.name, held.holder
          USING HINT = 'It ends by itself soon after its process.';
END
$$;

CREATE TRIGGER keep_held BEFORE DELETE ON lease
   FOR EACH ROW WHEN (lease_holds(OLD.expires_at, OLD.seconds))
       EXECUTE FUNCTION keep_held_leases();

CREATE TRIGGER keep_all_held BEFORE TRUNCATE ON lease
   FOR EACH STATEMENT EXECUTE FUNCTION keep_held_leases();

--
-- Chats, and who may use the bot
--

CREATE TABLE chat (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    platform text NOT NULL,
    external_id text NOT NULL,
    private boolean NOT NULL,
    title text,
    language text,
    time_zone text NOT NULL DEFAULT 'UTC',
    corpus text,
    listening text NOT NULL DEFAULT 'mentions'
        CHECK (listening ~ '^(all|mentions|commands|only( mentions)?( replies)?( headlines)?)$'),
    threshold smallint NOT NULL DEFAULT 5 CHECK (threshold BETWEEN 0 AND 6),
    quiet_from time,
    quiet_to time,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The language of whoever subscribed the chat, else of whoever first wrote there, for posts of
    -- chats that have chosen none.
    asked_in text,
    full_answers boolean NOT NULL DEFAULT false,
    picture text NOT NULL DEFAULT 'off'
        CONSTRAINT chat_picture CHECK (picture IN ('off', 'on', 'post')),
    UNIQUE (platform, external_id)
);
CREATE INDEX chat_corpus ON chat (corpus) WHERE active;

CREATE TABLE owner (
    platform text PRIMARY KEY,
    person text NOT NULL,
    chat text NOT NULL,  -- the private chat in which this person is reached
    language text NOT NULL,
    since timestamptz NOT NULL
);

-- Makes whoever writes it in private the owner, once.
CREATE TABLE owner_code (
    platform text PRIMARY KEY,
    code text NOT NULL,
    made_at timestamptz NOT NULL
);

-- Chats that asked for the owner's leave, and what the owner decided.
CREATE TABLE admission (
    platform text NOT NULL,
    external_id text NOT NULL,
    title text,
    language text NOT NULL,
    state text NOT NULL CHECK (state IN ('asked', 'allowed', 'refused')),
    since timestamptz NOT NULL,
    -- What was written there last, and where, while the chat asked.
    message text,
    thread text,
    message_at timestamptz,
    PRIMARY KEY (platform, external_id)
);

-- Messages that wait for the choice of an archive.
CREATE TABLE waiting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    message text NOT NULL,  -- as written, with its command
    written_at timestamptz,
    asked_at timestamptz NOT NULL,
    -- What somebody who may not choose for the chat chose for it last, and when.
    chosen text,
    chosen_by text,  -- "platform:id"
    chosen_at timestamptz
);
CREATE INDEX waiting_asked ON waiting (asked_at);

-- How often somebody asked, for a week.
CREATE TABLE quota (
    scope text NOT NULL,  -- "user:telegram:42", "chat:7"
    day date NOT NULL,    -- UTC
    used integer NOT NULL,
    title text,           -- who asked, as people read it
    PRIMARY KEY (scope, day)
);

--
-- Events and answers
--

-- Each process takes a number and holds a lease of that name for as long as it lives, so that others
-- can tell whether the one that took an event is still there.
CREATE SEQUENCE process_number AS integer CYCLE;

-- Events that were taken. A platform may deliver one again, to any process.
CREATE TABLE turn (
    platform text NOT NULL,
    event_id text NOT NULL,
    process integer NOT NULL,
    state text NOT NULL DEFAULT 'taken' CHECK (state IN ('taken', 'answering', 'done')),
    taken_at timestamptz NOT NULL,
    answered_by text,  -- the message that answers it, which is edited when the event's own message is
    PRIMARY KEY (platform, event_id)
);
CREATE INDEX turn_taken ON turn (taken_at);

-- Events that a platform was told to forget before they were dealt with.
CREATE TABLE inbox (
    platform text NOT NULL,
    number bigint NOT NULL,
    -- JSON as it came; not jsonb, which knows no character 0.
    content text NOT NULL,
    PRIMARY KEY (platform, number)
);

CREATE TABLE answer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    prophecy json NOT NULL,  -- as it was written: order and all
    event_id text            -- that was answered: what a reply to the answer is about
);
CREATE INDEX answer_chat ON answer (chat_id, id DESC);

CREATE TABLE vote (
    answer_id bigint NOT NULL REFERENCES answer ON DELETE CASCADE,
    rank integer NOT NULL,
    person text NOT NULL,
    value smallint NOT NULL CHECK (value IN (-1, 1)),
    voted_at timestamptz NOT NULL,
    PRIMARY KEY (answer_id, rank, person)
);

-- What whoever runs the page decided about prophecies that visitors voted for: what strangers wrote
-- is shown to nobody else before that.
CREATE TABLE wall_decision (
    answer_id bigint NOT NULL REFERENCES answer ON DELETE CASCADE,
    rank integer NOT NULL,
    approved boolean NOT NULL,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (answer_id, rank)
);

-- Votes of the page name a hash of an address with the key of their day. The key goes when the day
-- is over: from then on nobody can tell whose address it was.
CREATE TABLE voting_key (
    day date PRIMARY KEY,  -- UTC
    key bytea NOT NULL
);

-- Receipts of queries that were answered in a chat, for /why. They hold no text of any document.
CREATE TABLE find_answer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    receipt json NOT NULL,
    event_id text
);
CREATE INDEX find_answer_chat ON find_answer (chat_id, id DESC);

-- Kept for a day: what was asked just before makes "and in 2015?" a question.
CREATE TABLE question (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    text text NOT NULL,
    -- The corpus that the chat named. A question follows only those that were asked of the same: what
    -- is asked of a private one does not go out with a question about another.
    corpus text NOT NULL DEFAULT '',
    event_id text,
    person text,     -- who asked
    follows bigint   -- the question before
);
CREATE INDEX question_chat ON question (chat_id, id DESC);
CREATE INDEX question_asked ON question (asked_at);

-- Tweets that people in chats asked for: the task, the message that is edited while they are
-- written, and what was written, for its buttons. A task whose process has died is taken up by
-- another one: see docs/decisions/0032-compose.md.
CREATE TABLE composition (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    task json NOT NULL,
    state text NOT NULL DEFAULT 'asked'
        CHECK (state IN ('asked', 'waiting', 'written', 'shown', 'stopped')),
    process integer,
    attempts integer NOT NULL DEFAULT 0,
    message text,
    outcome json
);
CREATE INDEX composition_chat ON composition (chat_id);
CREATE INDEX composition_asked_at ON composition (asked_at);
CREATE INDEX composition_unfinished ON composition (id) WHERE state IN ('waiting', 'written');

-- What was drafted for a daily post, so that sending it again does not write it again.
CREATE TABLE draft (
    delivery_key text PRIMARY KEY,
    drafted_at timestamptz NOT NULL,
    outcome json NOT NULL
);
CREATE INDEX draft_drafted_at ON draft (drafted_at);

--
-- News: feeds, what they brought, what was found for it, and what is owed to chats
--

CREATE TABLE feed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,    -- where it is polled: it may have moved
    configured_url text UNIQUE,  -- as the settings name it; NULL: added in chats alone
    category text,
    title text,
    etag text,
    last_modified text,
    next_poll_at timestamptz NOT NULL,
    polled_at timestamptz,
    succeeded_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    told_failing boolean NOT NULL DEFAULT false,
    gone boolean NOT NULL DEFAULT false,
    moved_to text,
    moved_times integer NOT NULL DEFAULT 0,
    error text,
    read_at timestamptz,       -- entries came, and not only word that nothing changed
    leased_until timestamptz,  -- a process is polling it
    created_at timestamptz NOT NULL
);
CREATE INDEX feed_due ON feed (next_poll_at) WHERE NOT gone;

-- Feeds that a chat added for itself. Those of the settings are everybody's.
CREATE TABLE chat_feed (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    feed_id bigint NOT NULL REFERENCES feed ON DELETE CASCADE,
    category text,
    added_at timestamptz NOT NULL,
    PRIMARY KEY (chat_id, feed_id)
);
CREATE INDEX chat_feed_feed ON chat_feed (feed_id);

-- Feeds that everybody gets although the settings do not name them: added on the command line.

CREATE TABLE shared_feed (
    url text PRIMARY KEY,
    category text,
    added_at timestamptz NOT NULL
);

CREATE TABLE story (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL,
    text text NOT NULL,
    link text,
    link_key text,         -- the link without what only tells readers apart
    words text[] NOT NULL, -- sorted, distinct: near-identical headlines share most of them
    language text,
    published timestamptz NOT NULL,
    first_seen_at timestamptz NOT NULL,
    -- The feed that brought it first. What only some chats read is told to no others.
    feed_id bigint REFERENCES feed ON DELETE SET NULL
);
CREATE INDEX story_feed ON story (feed_id);
CREATE INDEX story_seen ON story (first_seen_at);
CREATE INDEX story_link ON story (link_key) WHERE link_key IS NOT NULL;
-- Searched before every insert: what waits in a pending list would be read each time.
CREATE INDEX story_words ON story USING gin (words) WITH (fastupdate = off);

-- Entries that were seen, so that each is new once.
CREATE TABLE headline (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed_id bigint NOT NULL REFERENCES feed ON DELETE CASCADE,
    identity_hash bytea NOT NULL,  -- SHA-256 of the identity
    words_hash bytea NOT NULL,     -- SHA-256 of link and words: a feed may change its guids
    story_id bigint REFERENCES story ON DELETE SET NULL,  -- NULL: no news
    title text NOT NULL,
    link text,
    published timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,  -- in the feed
    UNIQUE (feed_id, identity_hash)
);
CREATE INDEX headline_words ON headline (feed_id, words_hash);
CREATE INDEX headline_story ON headline (story_id);
CREATE INDEX headline_last_seen ON headline (last_seen_at);

-- One story searched in one corpus.
CREATE TABLE find (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    story_id bigint NOT NULL REFERENCES story ON DELETE CASCADE,
    corpus text NOT NULL,
    state text NOT NULL CHECK (state IN ('promising', 'dull', 'judged', 'unjudged')),
    coverage double precision NOT NULL,
    best integer,           -- highest judgment of its hits
    prophecy json,          -- NULL for what promises nothing
    note text,              -- why it was not judged
    found_at timestamptz NOT NULL,
    woke boolean NOT NULL DEFAULT false,  -- the chats that are told at once
    UNIQUE (story_id, corpus)
);
CREATE INDEX find_found ON find (found_at);
CREATE INDEX find_promising ON find (coverage DESC) WHERE state = 'promising';
CREATE INDEX find_waking ON find (corpus) WHERE NOT woke;

CREATE TABLE subscription (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    mode text NOT NULL CHECK (mode IN ('daily', 'instant', 'off')),
    at time NOT NULL DEFAULT '09:00',
    weekdays integer[] NOT NULL DEFAULT '{0,1,2,3,4,5,6}',
    best integer NOT NULL DEFAULT 3 CHECK (best BETWEEN 1 AND 10),
    threshold smallint NOT NULL DEFAULT 5 CHECK (threshold BETWEEN 0 AND 6),
    unjudged boolean NOT NULL DEFAULT false,
    unjudged_coverage double precision NOT NULL DEFAULT 0.6,
    say_nothing_found boolean NOT NULL DEFAULT false,
    thread text,
    must text[] NOT NULL DEFAULT '{}',
    must_not text[] NOT NULL DEFAULT '{}',
    languages text[] NOT NULL DEFAULT '{}',
    categories text[] NOT NULL DEFAULT '{}',
    since timestamptz NOT NULL, -- nothing older is posted
    compose boolean NOT NULL DEFAULT false,  -- a daily post brings a draft about its first story
    topic text NOT NULL DEFAULT '',          -- '': the chat's own; else also the thread of its posts
    feeds text[] NOT NULL DEFAULT '{}',
    silent boolean NOT NULL DEFAULT false,
    template text,
    -- When it is next looked at, so that a round reads only those that may be due: before it certainly
    -- nothing is. It is moved by whoever looked, unless `revision` has changed meanwhile.
    due_at timestamptz NOT NULL DEFAULT '-infinity',
    revision integer NOT NULL DEFAULT 0,
    PRIMARY KEY (chat_id, topic)
);
CREATE INDEX subscription_due ON subscription (due_at, chat_id, topic) WHERE mode <> 'off';
CREATE INDEX subscription_instant ON subscription (chat_id) WHERE mode = 'instant';

-- A daily post is decided once a local date, also when there was nothing to post.
CREATE TABLE digest (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    local_date date NOT NULL,
    decided_at timestamptz NOT NULL,
    topic text NOT NULL DEFAULT '',
    PRIMARY KEY (chat_id, topic, local_date)
);

CREATE TABLE delivery (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    content json NOT NULL,
    state text NOT NULL DEFAULT 'owed' CHECK (state IN ('owed', 'sent', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    begun_at timestamptz,      -- the last attempt that may have arrived
    next_attempt_at timestamptz NOT NULL,
    leased_until timestamptz,
    lease bigint,              -- changes with each lease: an old holder can settle nothing
    message_id text,           -- the platform's, once sent
    error text,
    created_at timestamptz NOT NULL,
    settled_at timestamptz,
    silent boolean NOT NULL DEFAULT false
);
CREATE INDEX delivery_due ON delivery (next_attempt_at) WHERE state = 'owed';
CREATE INDEX delivery_owed ON delivery (chat_id, id) WHERE state = 'owed';
CREATE INDEX delivery_chat ON delivery (chat_id, id DESC);
CREATE INDEX delivery_begun ON delivery (chat_id, begun_at);
CREATE INDEX delivery_settled ON delivery (settled_at);
CREATE SEQUENCE lease_number CYCLE;

-- What was posted where: a story once, a text not again for a long while.
CREATE TABLE posted (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    story_id bigint REFERENCES story ON DELETE SET NULL,
    delivery_id bigint REFERENCES delivery ON DELETE SET NULL,
    answer_id bigint REFERENCES answer ON DELETE SET NULL,
    corpus text NOT NULL,
    external_id text NOT NULL,
    text text NOT NULL,
    posted_at timestamptz NOT NULL
);
CREATE INDEX posted_chat ON posted (chat_id, posted_at);
CREATE INDEX posted_story ON posted (story_id);
CREATE INDEX posted_delivery ON posted (delivery_id);
CREATE INDEX posted_answer ON posted (answer_id);
CREATE UNIQUE INDEX posted_once ON posted (chat_id, story_id);

-- What became of the jobs, a day and outcome at a time.
CREATE TABLE job_outcome (
    job text NOT NULL,
    day date NOT NULL,  -- UTC
    outcome text NOT NULL CHECK (outcome IN ('done', 'failed', 'timed out', 'missed', 'skipped')),
    times integer NOT NULL,
    last_at timestamptz NOT NULL,
    last_error text,
    PRIMARY KEY (job, day, outcome)
);

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

-- What each chat may be told of: headlines of the settings' feeds, and of feeds that it added
-- itself from then on. Links of a feed that another chat added may be private.
CREATE VIEW visible_headline AS
SELECT c.id AS chat_id, h.id, h.story_id, h.title, h.link, h.published, f.title AS source,
       coalesce(own.category, f.category) AS category
  FROM chat c
 CROSS JOIN headline h
  JOIN feed f ON f.id = h.feed_id
  LEFT JOIN chat_feed own ON own.feed_id = h.feed_id AND own.chat_id = c.id
 WHERE f.configured_url IS NOT NULL OR own.added_at <= h.seen_at;

-- Stories with the feeds that brought them.
CREATE VIEW told_story AS
SELECT s.id, s.title, s.text, s.link, s.language, s.published, s.first_seen_at,
       brought.source, coalesce(brought.categories, '{}') AS categories
  FROM story s
 CROSS JOIN LATERAL (
       SELECT (array_agg(f.title ORDER BY h.id))[1] AS source,
              array_agg(DISTINCT f.category ORDER BY f.category)
                  FILTER (WHERE f.category IS NOT NULL) AS categories
         FROM headline h JOIN feed f ON f.id = h.feed_id
        WHERE h.story_id = s.id) brought;

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
