# Sourced by scripts that need a server: makes a private copy of the PostgreSQL installation with simjoin in
# it, and temporary clusters that run on it. Removes everything however the script ends.
#
# PostgreSQL finds its libraries and its share folder relative to its programs. A copy of the programs beside
# links to the rest is therefore an installation of its own. Nothing is written to the system's installation,
# no right to do so is needed, and a server that runs on the machine is left alone.
#
# Everything is in one new folder below the temporary folder: $work. Servers listen only on a socket in it.
# PostgreSQL refuses to run as root. For root, everything belongs to and runs as the user postgres (or
# nobody).

work=
child=

say() { printf '%s\n' "$*" >&2; }

# Runs a command so that a signal to this script stops it. The command has a process group of its own, which
# stop_child ends.
interruptible() {
  set -m
  "$@" &
  child=$!
  set +m
  local status=0
  wait "$child" || status=$?
  child=
  return $status
}

stop_child() {
  [ -z "$child" ] || kill -TERM -- "-$child" 2> /dev/null || true
  [ -z "$child" ] || wait "$child" 2> /dev/null || true
}

# Runs a command as the user who owns the clusters.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    HOME=$work setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups -- "$@"
  else
    HOME=$work "$@"
  fi
}

# The same in $work, since the owner may not be allowed to enter the current folder.
in_work() { (cd "$work" && as_owner "$@"); }

# Stops every server that was started in $work, including the tests' own, and removes $work.
remove_work() {
  local pidfile
  trap '' HUP INT TERM  # a second signal must not stop the cleaning up
  stop_child
  [ -n "$work" ] || return 0
  find "$work" -name postmaster.pid 2> /dev/null | while read -r pidfile; do
    in_work "$bindir/pg_ctl" -D "$(dirname "$pidfile")" -m immediate -w stop > /dev/null 2>&1 || true
  done
  rm -rf "$work"
  work=
}

# Stops everything that is running and removes $work, however the script ends.
remove_work_at_exit() {
  trap remove_work EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# Prints the full path of the pg_config to build and test with. Fails if there is none.
find_postgres() { test/tools/find-pg-config --server 2> /dev/null; }

no_postgres="there is no PostgreSQL here that extensions can be built for"

# Sets PG_CONFIG to what find_postgres prints.
choose_postgres() {
  PG_CONFIG=$(test/tools/find-pg-config --server) || { say "simjoin: $no_postgres"; exit 1; }
  export PG_CONFIG
}

# Makes $work and sets owner, bindir (of the private copy), pkglibdir and PATH; removes $work when the script ends.
make_work() {
  local folder=${TMPDIR:-/tmp}
  umask 022  # the clusters' owner may be another one
  # A server's socket has a path of at most 107 characters.
  [ ${#folder} -le 60 ] || export TMPDIR=/tmp
  owner=$(id -un)
  if [ "$(id -u)" = 0 ]; then
    owner=postgres
    id "$owner" > /dev/null 2>&1 || owner=nobody
  fi
  remove_work_at_exit
  work=$(mktemp -d "${TMPDIR:-/tmp}/simjoin.XXXXXX") || { say "simjoin: no folder can be made in TMPDIR=$folder"; exit 1; }
  mkdir "$work/socket"
  chmod 755 "$work" "$work/socket"
  [ "$(id -u)" != 0 ] || chown "$owner" "$work" "$work/socket"
  chmod 700 "$work/socket"
  copy_postgres installation
}

# Usage: copy_postgres NAME: copies the PostgreSQL of PG_CONFIG to $work/NAME, without simjoin. Sets installation, bindir,
# pkglibdir, regress_dir and PATH.
copy_postgres() {
  local original_bindir sharedir
  original_bindir=$("$PG_CONFIG" --bindir)
  pkglibdir=$("$PG_CONFIG" --pkglibdir)
  sharedir=$("$PG_CONFIG" --sharedir)
  regress_dir=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
  installation=$work/$1
  bindir=$installation$original_bindir
  mkdir -p "$bindir" "$installation$pkglibdir" "$installation$sharedir"
  cp "$original_bindir"/* "$bindir/"
  cp -rs "$pkglibdir/." "$installation$pkglibdir/"
  cp -rs "$sharedir/." "$installation$sharedir/"
  rm -f "$installation$pkglibdir"/simjoin* "$installation$sharedir"/extension/simjoin*
  chmod -R u=rwX,go=rX "$bindir"
  # By a shell: setpriv itself could still enter where only root may.
  if ! in_work sh -c '"$0" --version' "$bindir/postgres" > "$work/version.log" 2>&1; then
    cat "$work/version.log" >&2
    say "simjoin: the user $owner cannot run programs in ${TMPDIR:-/tmp};"
    say "set TMPDIR to a folder that all users may enter, on a file system that allows execution (not mounted noexec)."
    exit 1
  fi
  # Some pg_config print built-in folders. initdb shows where the server really looks.
  if ! in_work "$bindir/initdb" --show -D "$work/none" 2>&1 | grep -qxF "share_path=$installation$sharedir"; then
    say "simjoin: the PostgreSQL of $PG_CONFIG cannot be copied to another folder;"
    say "install simjoin (make install) and run make installcheck against a server of it."
    exit 1
  fi
  PATH=$bindir:$PATH
  export PATH
}

# Usage: seen LOG COMMAND...: runs a build with its output in LOG. Every 5 seconds it prints how far the build is: ninja's
# count, or the folder of the module that was begun last.
seen() {
  local log=$1 began=$SECONDS said=$SECONDS building
  shift
  SIMJOIN_SEEN=1 "$@" > "$log" 2>&1 &
  building=$!
  while sleep 1 && kill -0 $building 2> /dev/null; do
    [ $((SECONDS - said)) -ge 5 ] || continue
    said=$SECONDS
    printf '  %d s: %s\n' $((said - began)) "$(
      sed -nE 's/^\[([0-9]+\/[0-9]+)\].*/step \1/p; s|.* -o build/pg[0-9]+/([a-z_/]+)\.o .*|the module, \1|p' "$log" | tail -n 1)"
  done
  wait $building
}

# Builds simjoin and installs it into the private copy. The output of the tools goes to the file log.
install_privately() {
  local log=$1
  mkdir -p build
  test/tools/find-nvcc > /dev/null  # says it where CUDA is too old
  seen "$log" build_and_install || { tail -n 40 "$log" >&2; say "simjoin: the build failed"; return 1; }
}
build_and_install() {
  (
    flock 9
    make -j "$(nproc)" all && make -s install DESTDIR="$installation"
  ) 9> build/make.lock
}

# Copies what the tests need to a place that the clusters' owner can read and write, and sets tree.
make_tree() {
  tree=$work/tree
  mkdir "$tree"
  cp -r README.md docs expected test sql simjoin.control "$tree/"
  chmod -R u=rwX,go=rX "$tree"
  [ "$(id -u)" != 0 ] || chown -R "$owner" "$tree"
}

# Runs a command in that copy as the owner.
in_tree() { (cd "$tree" && as_owner "$@"); }

# Makes and starts a cluster in $work/NAME. Further arguments are settings, each as name=value. Sets PGHOST,
# PGPORT and PGUSER, so that clients find it, and removes all other variables that lead them elsewhere.
# Statistics change only if a test says so, because plans must not depend on the time that a test takes.
start_cluster() {
  local name=$1 locale=C.UTF-8 setting
  shift
  locale -a 2> /dev/null | grep -qiE '^C\.utf-?8$' || locale=C
  in_work "$bindir/initdb" -D "$work/$name" -U postgres -A trust -E UTF8 --locale=$locale --no-sync \
    > "$work/$name.initdb.log" 2>&1 || { cat "$work/$name.initdb.log" >&2; return 1; }
  for setting in listen_addresses= "unix_socket_directories=$work/socket" port=5432 fsync=off \
    autovacuum=off timezone=UTC datestyle=ISO "$@"; do
    printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}"
  done | in_work tee -a "$work/$name/postgresql.conf" > /dev/null
  in_work "$bindir/pg_ctl" -D "$work/$name" -l "$work/$name.log" -w start > /dev/null ||
    { cat "$work/$name.log" >&2; return 1; }
  unset $(compgen -e PG | grep -vE '^(PGHOST|PGPORT|PGUSER|PG_.*)$')
  export PGHOST=$work/socket PGPORT=5432 PGUSER=postgres
}

stop_cluster() {
  in_work "$bindir/pg_ctl" -D "$work/$1" -m fast -w stop > /dev/null
}
