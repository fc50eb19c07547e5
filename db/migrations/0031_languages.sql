-- Languages that the server has learned since the tables were made: a newer version, or a backup of
-- an older one. As in 0001_core.sql, one text-search configuration each.

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
