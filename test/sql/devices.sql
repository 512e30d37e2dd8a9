-- Devices of a join: the result is the same with or without a GPU. No output here depends on a GPU.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;

CREATE TABLE sets AS
SELECT id, ARRAY(SELECT (id * 7919 + j * j * 31) % 50 FROM generate_series(1, 5 + id % 7) j) AS tokens
FROM generate_series(1, 600) id;
ANALYZE sets;

-- A join on the GPU, or the error that says why the GPU cannot be used.
CREATE FUNCTION pairs_on(chosen text, OUT result text) LANGUAGE plpgsql AS $$
DECLARE
  hint text;
BEGIN
  PERFORM set_config('simjoin.device', chosen, true);
  SELECT count(*) INTO result FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
EXCEPTION WHEN system_error THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  result := hint;
END $$;
SELECT pairs_on('cpu') = pairs_on('auto') AS same, pairs_on('cpu')::int > 100 AS many;
SELECT pairs_on('gpu') = CASE WHEN EXISTS (SELECT FROM simjoin_devices()) THEN pairs_on('cpu')
                              ELSE 'Set simjoin.device to auto or cpu.' END AS as_expected;

SELECT bool_and(device >= 0 AND name <> '' AND compute_capability ~ '^\d+\.\d+$' AND
                memory_free BETWEEN 1 AND memory_total) IS NOT FALSE AS sane
FROM simjoin_devices();

-- The devices of the other algorithms.
SET simjoin.device = gpu;
SET simjoin.algorithm = ppjoin;
SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
SET simjoin.device = cpu;
SET simjoin.algorithm = fgssjoin;
SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
-- Without a GPU, algorithms for GPUs are `auto`.
SELECT algorithm, pairs_on('auto') = pairs AS same
FROM (SELECT set_config('simjoin.algorithm', 'auto', false), pairs_on('cpu') AS pairs) c,
     (VALUES ('gssjoin'), ('fgssjoin'), ('sf_gssjoin'), ('cpu_gpu')) g (algorithm)
WHERE set_config('simjoin.algorithm', algorithm, false) IS NOT NULL;
RESET simjoin.algorithm;
SET simjoin.device = cpu;
SET simjoin.gpu_memory_limit = '1GB';

-- EXPLAIN shows the device, and hides it on demand.
CREATE FUNCTION device_lines(options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) SELECT count(*) FROM sets a JOIN sets b
      ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6', options) LOOP
    IF line ~ 'Method|Device|GPU' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT device_lines('COSTS OFF');
SELECT device_lines('ANALYZE, COSTS OFF, TIMING OFF');
SET simjoin.device = auto;
SELECT device_lines('COSTS OFF');
SET simjoin.explain_device = off;
SELECT device_lines('ANALYZE, COSTS OFF, TIMING OFF');
RESET simjoin.explain_device;

-- The functions use the same settings.
SET simjoin.device = cpu;
SELECT count(*) FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6) \gset cpu_
SET simjoin.device = auto;
SELECT count(*) = :cpu_count AS same FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6);

-- They report their device at DEBUG1 in the words of EXPLAIN, unless EXPLAIN hides it.
CREATE TABLE vectors AS SELECT id, ARRAY[id, 1, 2, 3]::real[] AS vector, ARRAY[1, 1]::real[] AS weights FROM generate_series(1, 20) id;
SET simjoin.device = cpu;
SET simjoin.algorithm = ppjoin;
SET client_min_messages = debug1;
SELECT count(*) > 0 AS some FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6);
SELECT count(*) > 0 AS some FROM similarity_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM sets', 0.6);
SELECT count(*) > 0 AS some FROM similarity_neighbors('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM sets', 1, 0.6);
SELECT count(*) > 0 AS some FROM duplicate_groups('SELECT id, tokens FROM sets', 0.9, max_group_share => 1);
SELECT count(*) > 0 AS some FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7);
SELECT count(*) > 0 AS some FROM minhash_signatures('SELECT id, tokens FROM sets');
SELECT count(*) > 0 AS some FROM weighted_minhash_signatures('SELECT id, ARRAY[id, 2], weights FROM vectors');
SELECT count(*) > 0 AS some FROM flyhash_signatures('SELECT id, vector FROM vectors', 40);
SELECT count(*) > 0 AS some FROM connected_components('SELECT id, id + 1 FROM sets');
SELECT count(*) > 0 AS some FROM pagerank('SELECT id, id + 1 FROM sets');
SELECT count(*) > 0 AS some FROM densest_subgraph('SELECT id, id + 1 FROM sets', 3);
SELECT count(*) > 0 AS some FROM cluster_documents('SELECT id, ARRAY[id, 2], weights FROM vectors', 0.5);
SET simjoin.explain_device = off;
SELECT count(*) > 0 AS some FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6);
SELECT count(*) > 0 AS some FROM pagerank('SELECT id, id + 1 FROM sets');
RESET simjoin.explain_device;
SET client_min_messages = warning;
RESET simjoin.algorithm;

DROP TABLE vectors;
DROP FUNCTION pairs_on, device_lines;
DROP TABLE sets;
