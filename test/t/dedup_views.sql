-- A dump by PostgreSQL 15 of two dedup views of the first release, when parts were not recorded as parts yet. One view
-- tracks changes, and a change is pending. The other one is of stars, and one of its parts was renamed and moved.
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
CREATE SCHEMA elsewhere;
CREATE EXTENSION IF NOT EXISTS simjoin WITH SCHEMA public;
COMMENT ON EXTENSION simjoin IS 'similarity joins: all pairs of similar sets, exactly';
CREATE TABLE elsewhere.doc_stars_rows (
    id bigint NOT NULL,
    fingerprint uuid NOT NULL
);
COMMENT ON TABLE elsewhere.doc_stars_rows IS 'rows of a dedup view of simjoin at its last refresh';
CREATE TABLE public.docs (
    id integer NOT NULL,
    rank integer,
    tokens integer[]
);
CREATE VIEW elsewhere.doc_stars_source AS
 SELECT docs.id,
    docs.tokens
   FROM public.docs
  ORDER BY docs.rank;
COMMENT ON VIEW elsewhere.doc_stars_source IS 'query of a dedup view of simjoin';
CREATE TABLE public.star_pairs (
    a bigint NOT NULL,
    b bigint NOT NULL,
    similarity double precision NOT NULL
);
COMMENT ON TABLE public.star_pairs IS 'similar pairs of a dedup view of simjoin at its last refresh';
CREATE MATERIALIZED VIEW elsewhere.doc_stars AS
 SELECT dedup_view_groups.id,
    dedup_view_groups.group_id,
    dedup_view_groups.is_representative,
    dedup_view_groups.similarity
   FROM public.dedup_view_groups('elsewhere.doc_stars_source'::regclass, 'elsewhere.doc_stars_rows'::regclass, 'public.star_pairs'::regclass, '0.5'::double precision, 'jaccard'::text, 'star'::text, 'first_row'::text, '1'::double precision) dedup_view_groups(id, group_id, is_representative, similarity)
  WITH NO DATA;
CREATE TABLE public.doc_groups_changes (
    first_id bigint,
    last_id bigint
);
COMMENT ON TABLE public.doc_groups_changes IS 'ids that have changed since the last refresh of a dedup view of simjoin';
CREATE TABLE public.doc_groups_order (
    rows bigint NOT NULL,
    ordered_rows bigint NOT NULL,
    frequent integer[] NOT NULL
);
COMMENT ON TABLE public.doc_groups_order IS 'order of the tokens of a dedup view of simjoin';
CREATE TABLE public.doc_groups_pairs (
    a bigint NOT NULL,
    b bigint NOT NULL,
    similarity double precision NOT NULL
);
COMMENT ON TABLE public.doc_groups_pairs IS 'similar pairs of a dedup view of simjoin at its last refresh';
CREATE TABLE public.doc_groups_rows (
    id bigint NOT NULL,
    fingerprint uuid NOT NULL,
    size integer NOT NULL,
    prefix integer[] NOT NULL
);
COMMENT ON TABLE public.doc_groups_rows IS 'rows of a dedup view of simjoin at its last refresh';
CREATE VIEW public.doc_groups_source AS
 SELECT docs.id,
    docs.tokens
   FROM public.docs;
COMMENT ON VIEW public.doc_groups_source IS 'query of a dedup view of simjoin';
CREATE MATERIALIZED VIEW public.doc_groups AS
 SELECT dedup_view_groups.id,
    dedup_view_groups.group_id,
    dedup_view_groups.is_representative,
    dedup_view_groups.similarity
   FROM public.dedup_view_groups('public.doc_groups_source'::regclass, 'public.doc_groups_rows'::regclass, 'public.doc_groups_pairs'::regclass, 'public.doc_groups_changes'::regclass, 'public.doc_groups_order'::regclass, '0.9'::double precision, 'jaccard'::text, 'components'::text, 'smallest_id'::text, '0.1'::double precision) dedup_view_groups(id, group_id, is_representative, similarity)
  WITH NO DATA;
COPY elsewhere.doc_stars_rows (id, fingerprint) FROM stdin;
12	3a0a10fd-a92a-56ec-0b6e-b86ecc4ce2fd
11	5f318675-1e2b-595f-8641-41004e803de2
10	5f318675-1e2b-595f-8641-41004e803de2
9	5a643f39-a48e-af31-8455-96cb5e582820
8	5a643f39-a48e-af31-8455-96cb5e582820
7	bcaa04b0-21a0-e8f6-034b-559ca751ef8e
6	bcaa04b0-21a0-e8f6-034b-559ca751ef8e
5	c1346ba6-fc25-50d8-dbeb-040d8bb9c7cd
4	c1346ba6-fc25-50d8-dbeb-040d8bb9c7cd
3	cf3b8f11-d194-6fa7-e75c-20da6d00d1e6
2	cf3b8f11-d194-6fa7-e75c-20da6d00d1e6
1	3f563f66-61e3-3e58-521e-9f5e587fe783
\.
COPY public.doc_groups_changes (first_id, last_id) FROM stdin;
13	13
\.
COPY public.doc_groups_order (rows, ordered_rows, frequent) FROM stdin;
12	12	{487265508,1661156108,1853088626,-1755826722,-1117477415,-1861603860,1674306020}
\.
COPY public.doc_groups_pairs (a, b, similarity) FROM stdin;
2	3	1
4	5	1
6	7	1
8	9	1
10	11	1
\.
COPY public.doc_groups_rows (id, fingerprint, size, prefix) FROM stdin;
1	3f563f66-61e3-3e58-521e-9f5e587fe783	3	{1970839015,106043442}
2	cf3b8f11-d194-6fa7-e75c-20da6d00d1e6	3	{106043442,0}
3	cf3b8f11-d194-6fa7-e75c-20da6d00d1e6	3	{106043442,0}
4	c1346ba6-fc25-50d8-dbeb-040d8bb9c7cd	3	{0,-114567508}
5	c1346ba6-fc25-50d8-dbeb-040d8bb9c7cd	3	{0,-114567508}
6	bcaa04b0-21a0-e8f6-034b-559ca751ef8e	3	{-114567508,-195359022}
7	bcaa04b0-21a0-e8f6-034b-559ca751ef8e	3	{-114567508,-195359022}
8	5a643f39-a48e-af31-8455-96cb5e582820	3	{708612103,-114567508}
9	5a643f39-a48e-af31-8455-96cb5e582820	3	{708612103,-114567508}
10	5f318675-1e2b-595f-8641-41004e803de2	3	{-191638470,708612103}
11	5f318675-1e2b-595f-8641-41004e803de2	3	{-191638470,708612103}
12	3a0a10fd-a92a-56ec-0b6e-b86ecc4ce2fd	3	{151938158,-191638470}
\.
COPY public.docs (id, rank, tokens) FROM stdin;
1	19	{0,1,2}
2	18	{1,2,3}
3	17	{1,2,3}
4	16	{2,3,4}
5	15	{2,3,4}
6	14	{3,4,5}
7	13	{3,4,5}
8	12	{4,5,6}
9	11	{4,5,6}
10	10	{5,6,7}
11	9	{5,6,7}
12	8	{6,7,8}
13	1	{1,2,3}
\.
COPY public.star_pairs (a, b, similarity) FROM stdin;
2	3	1
1	3	0.5
1	2	0.5
11	12	0.5
10	12	0.5
10	11	1
4	5	1
3	5	0.5
3	4	0.5
2	5	0.5
2	4	0.5
9	11	0.5
9	10	0.5
8	11	0.5
8	10	0.5
8	9	1
6	7	1
5	7	0.5
5	6	0.5
4	7	0.5
4	6	0.5
7	9	0.5
7	8	0.5
6	9	0.5
6	8	0.5
\.
ALTER TABLE ONLY elsewhere.doc_stars_rows
    ADD CONSTRAINT doc_stars_rows_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.doc_groups_order
    ADD CONSTRAINT doc_groups_order_pkey PRIMARY KEY (ordered_rows);
ALTER TABLE ONLY public.doc_groups_pairs
    ADD CONSTRAINT doc_groups_pairs_pkey PRIMARY KEY (a, b);
ALTER TABLE ONLY public.doc_groups_rows
    ADD CONSTRAINT doc_groups_rows_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.star_pairs
    ADD CONSTRAINT doc_stars_pairs_pkey PRIMARY KEY (a, b);
ALTER TABLE ONLY public.docs
    ADD CONSTRAINT docs_pkey PRIMARY KEY (id);
CREATE INDEX doc_stars_group_id_idx ON elsewhere.doc_stars USING btree (group_id);
CREATE UNIQUE INDEX doc_stars_id_idx ON elsewhere.doc_stars USING btree (id);
CREATE INDEX doc_groups_group_id_idx ON public.doc_groups USING btree (group_id);
CREATE UNIQUE INDEX doc_groups_id_idx ON public.doc_groups USING btree (id);
CREATE INDEX doc_groups_pairs_b_idx ON public.doc_groups_pairs USING btree (b);
CREATE INDEX doc_groups_rows_prefix_idx ON public.doc_groups_rows USING gin (prefix) WITH (fastupdate=off);
CREATE INDEX doc_stars_pairs_b_idx ON public.star_pairs USING btree (b);
CREATE TRIGGER simjoin_delete AFTER DELETE ON public.docs REFERENCING OLD TABLE AS simjoin_old FOR EACH STATEMENT EXECUTE FUNCTION public.dedup_view_changes();
CREATE TRIGGER simjoin_insert AFTER INSERT ON public.docs REFERENCING NEW TABLE AS simjoin_new FOR EACH STATEMENT EXECUTE FUNCTION public.dedup_view_changes();
CREATE TRIGGER simjoin_replicated_change AFTER DELETE OR UPDATE ON public.docs FOR EACH ROW EXECUTE FUNCTION public.dedup_view_changes();
ALTER TABLE public.docs ENABLE REPLICA TRIGGER simjoin_replicated_change;
CREATE TRIGGER simjoin_replicated_insert AFTER INSERT ON public.docs REFERENCING NEW TABLE AS simjoin_new FOR EACH ROW EXECUTE FUNCTION public.dedup_view_changes();
ALTER TABLE public.docs ENABLE REPLICA TRIGGER simjoin_replicated_insert;
CREATE TRIGGER simjoin_truncate AFTER TRUNCATE ON public.docs FOR EACH STATEMENT EXECUTE FUNCTION public.dedup_view_changes();
ALTER TABLE public.docs ENABLE ALWAYS TRIGGER simjoin_truncate;
CREATE TRIGGER simjoin_update AFTER UPDATE ON public.docs REFERENCING OLD TABLE AS simjoin_old NEW TABLE AS simjoin_new FOR EACH STATEMENT EXECUTE FUNCTION public.dedup_view_changes();
REFRESH MATERIALIZED VIEW elsewhere.doc_stars;
REFRESH MATERIALIZED VIEW public.doc_groups;
