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

-- A function may have its own settings.
CREATE FUNCTION settings_test_similar(text[], text[]) RETURNS bool LANGUAGE sql
SET simjoin.similarity_threshold = 0.3 AS $$ SELECT $1 ~= $2 $$;
SELECT '{a,b}'::text[] ~= '{b,c}' AS at_default, settings_test_similar('{a,b}', '{b,c}') AS at_0_3;
DROP FUNCTION settings_test_similar;
