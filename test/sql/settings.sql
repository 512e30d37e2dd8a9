-- The settings: their defaults, ranges and units. Each is known from the start.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SELECT simjoin_version() = extversion AS same_version FROM pg_extension WHERE extname = 'simjoin';

SELECT name, setting, unit, vartype, min_val, max_val, enumvals, context, boot_val = reset_val AS at_default
FROM pg_settings WHERE name LIKE 'simjoin.%' ORDER BY name COLLATE "C";
SELECT name, short_desc, extra_desc FROM pg_settings WHERE name LIKE 'simjoin.%' ORDER BY name COLLATE "C";

SET simjoin.memory_limit = '2GB';
SHOW simjoin.memory_limit;
DO $$ BEGIN SET simjoin.memory_limit = '1023kB'; EXCEPTION WHEN invalid_parameter_value THEN RAISE WARNING 'refused'; END $$;
SET simjoin.algorithm = ppjoin;
SHOW simjoin.algorithm;
SET simjoin.similarity_threshold = 3;
SHOW simjoin.similarity_threshold;

-- An ordinary user may set them all.
CREATE ROLE regress_simjoin_user;
SET ROLE regress_simjoin_user;
SET simjoin.enable_join = off;
SET simjoin.memory_limit = '100MB';
SET simjoin.cpu_threads = 1;
SET simjoin.measure = dice;
RESET ROLE;
DROP ROLE regress_simjoin_user;
SHOW simjoin.measure;
RESET ALL;
SHOW simjoin.measure;

-- Caps bound what a role gets, and only a superuser sets them.
SET simjoin.max_memory = '1023kB';
SET simjoin.max_memory = '1MB';
SET simjoin.memory_limit = '1GB';
SELECT count(*) FROM connected_components('SELECT i, i + 1 FROM generate_series(1, 200000) i');
SET simjoin.max_threads = 1;
SET simjoin.cpu_threads = 64;
SET simjoin.max_gpu_memory = '1MB';
SELECT count(*) FROM similarity_self_join('SELECT i, ARRAY[i / 2, i / 2 + 1] FROM generate_series(1, 1000) i', 1);
CREATE ROLE regress_simjoin_user;
SET ROLE regress_simjoin_user;
SET simjoin.max_memory = 0;
SET simjoin.max_threads = 0;
SET simjoin.max_gpu_memory = 0;
RESET simjoin.max_memory;
RESET ROLE;
DROP ROLE regress_simjoin_user;
RESET simjoin.max_memory;
SELECT count(*) FROM connected_components('SELECT i, i + 1 FROM generate_series(1, 200000) i');
RESET ALL;

-- A function may have its own settings.
CREATE FUNCTION settings_test_similar(text[], text[]) RETURNS bool LANGUAGE sql
SET simjoin.similarity_threshold = 0.3 AS $$ SELECT $1 ~= $2 $$;
SELECT '{a,b}'::text[] ~= '{b,c}' AS at_default, settings_test_similar('{a,b}', '{b,c}') AS at_0_3;
DROP FUNCTION settings_test_similar;
