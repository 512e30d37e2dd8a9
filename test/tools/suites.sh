# Sourced, after cluster.sh, by scripts that run suites of tests. Prints a suite's name when it begins and a line when it ends,
# and counts the tests that passed and failed. $logs names the folder for their output, $jobs how many commands run side by side.
passed=0
failed=0
reported=0

# Usage: begin SUITE: prints that a suite or another step begins.
begin() { printf '%s ...\n' "$1"; }

# Usage: report SUITE PASSED FAILED: adds a suite's counts and prints them, with the seconds since the last suite.
report() {
  local failures=
  passed=$((passed + $2))
  failed=$((failed + $3))
  [ "$3" = 0 ] || failures=", $3 FAILED"
  printf '%-11s %4d passed%s (%d s)\n' "$1" "$2" "$failures" $((SECONDS - reported))
  reported=$SECONDS
}

# Usage: took STEP: prints the seconds since the last suite or step.
took() {
  printf '%-11s (%d s)\n' "$1" $((SECONDS - reported))
  reported=$SECONDS
}

# Usage: count PATTERN FILE: prints how many lines match.
count() { grep -cE "$1" "$2" || true; }

# Usage: suite NAME OK-PATTERN FAILED-PATTERN COMMAND...: runs a suite with its output in $logs/NAME.log and
# reports the matching lines. A command that fails without naming a failed test counts as one. A command that
# exits with 77 cannot run here and says why. Sets suite_failed.
suite() {
  local name=$1 ok=$2 not_ok=$3 log=$logs/$1.log status=0 good bad
  shift 3
  suite_failed=0
  begin "$name"
  interruptible "$@" > "$log" 2>&1 < /dev/null || status=$?
  [ $status != 77 ] || { cat "$log"; return; }
  good=$(count "$ok" "$log")
  bad=$(count "$not_ok" "$log")
  if [ $bad = 0 ] && { [ $status != 0 ] || [ $good = 0 ]; }; then bad=1; fi
  [ $bad = 0 ] ||
    { (grep -vE "$ok|^ +Start +[0-9]|^\[ RUN " "$log" || true) | tail -n 60 >&2; say "(all of it: $log)"; }
  report "$name" "$good" "$bad"
  suite_failed=$bad
}

# Usage: side_by_side COMMAND ARGUMENT...: runs the command for each argument, $jobs at a time, and prints
# their outputs one after another. Fails if one does.
side_by_side() {
  local command=$1 argument running=0 status=0
  shift
  set +m
  for argument; do
    if [ $running = $jobs ]; then
      wait -n || status=1
      running=$((running - 1))
    fi
    "$command" "$argument" > "$logs/$command-${argument##*/}.log" 2>&1 &
    running=$((running + 1))
  done
  for ((; running > 0; --running)); do wait -n || status=1; done
  for argument; do cat "$logs/$command-${argument##*/}.log"; done
  return $status
}

# Prints the total time and the numbers of passed and failed tests. Fails if any test failed.
report_all() {
  printf '%-11s (%d s)\n' "in all" $SECONDS
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
}

# Runs TAP tests in the copy that make_tree made. Their servers' logs are below tmp_check. No test waits half an hour on a machine
# that is only busy.
tap() {
  in_tree env PG_TEST_TIMEOUT_DEFAULT=1800 PG_REGRESS="$regress_dir/regress/pg_regress" TESTDIR="$tree" TESTLOGDIR="$tree/tmp_check/log" \
    TESTDATADIR="$tree/tmp_check" prove --verbose --nocolor -I "$regress_dir/perl" "$@"
}

# Keeps the servers' logs if the last suite failed.
keep_tap_logs() { [ "$suite_failed" = 0 ] || cp -rT "$tree/tmp_check/log" "$logs/tap-logs"; }
