-- Corpora, documents, and the statistics that BM25 needs.

CREATE EXTENSION IF NOT EXISTS unaccent;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- One text-search configuration a language: presagio_english, presagio_spanish, presagio_simple...
-- Chain: accented stop words are dropped first (a simple dictionary that accepts nothing), then
-- accents are folded, then the stemmer sees the rest. Folding before the stop list would let
-- "más" and "también" through; stemming before folding would give "también" and "tambien"
-- different lexemes.
DO $$
DECLARE
    source record;
    mapping record;
    stop_words text;
    own_stop_list text;
BEGIN
    FOR source IN
        SELECT oid, cfgname FROM pg_catalog.pg_ts_config
        WHERE cfgnamespace = 'pg_catalog'::regnamespace
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
    END LOOP;
END
$$;

CREATE TABLE corpus (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    kind text NOT NULL CHECK (kind IN ('tweets', 'social', 'personal', 'published', 'library')),
    language text NOT NULL,
    author text,
    url_template text,
    created_at timestamptz NOT NULL DEFAULT now(),
    documents bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0
);

CREATE TABLE corpus_language (
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    language text NOT NULL,
    documents bigint NOT NULL,
    PRIMARY KEY (corpus_id, language)
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
    NEW.tsv := to_tsvector(
        ('presagio_' || NEW.language)::regconfig,
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
