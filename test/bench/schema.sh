# Sourced: statements in the schema simjoin_bench of a server that runs, which is dropped at the end. sql takes what psql
# takes; $rows and $threshold are its variables. prologue prints the statements that come first.
sql() { psql -X -q -At -v ON_ERROR_STOP=1 -v rows="$rows" -v threshold="$threshold" "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
prologue() {
  cat << 'EOF'
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA simjoin_bench;
SET search_path = simjoin_bench, public;
-- Returns the seconds of CPU time that this process has used.
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql VOLATILE AS
$$ SELECT (f[12]::numeric + f[13]::numeric) / 100 FROM (SELECT string_to_array(split_part(pg_read_file('/proc/self/stat'), ') ', 2), ' ') f) s $$;
EOF
}
trap cleanup EXIT
trap 'exit 130' INT TERM
cleanup
