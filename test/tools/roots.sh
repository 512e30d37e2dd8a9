# Sourced by scripts that run commands in systems of their own, which mmdebstrap makes from its usual mirrors (MIRROR names
# another). All lies in one new folder below TMPDIR, $top, which is removed however the script ends. $logs names the folder
# for the output; $ccache, if it is not empty, a folder of the machine that the systems see as /mnt.
child=

# Usage: make_top PROGRAM...: sets top and root, the system that in_root works in. Fails without root or a program.
make_top() {
  local program
  [ "$(id -u)" = 0 ] || { echo "simjoin: $(basename "$0") makes systems of their own, which takes root" >&2; exit 1; }
  for program in mmdebstrap unshare "$@"; do
    command -v "$program" > /dev/null || { echo "simjoin: $(basename "$0") needs $program, which is missing" >&2; exit 1; }
  done
  mkdir -p "$logs"
  top=$(mktemp -d "${TMPDIR:-/tmp}/simjoin-root.XXXXXX")
  root=$top/root
  trap remove_top EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# A root's processes end with the first of them, and their mounts with the last.
remove_top() {
  trap '' HUP INT TERM
  [ -z "$child" ] || { kill -KILL "$child" && wait "$child"; } 2> /dev/null || true
  rm -rf --one-file-system "$top"
}

# Runs a command so that a signal to this script stops it.
interruptible() {
  local status=0
  "$@" < /dev/null &
  child=$!
  wait $child || status=$?
  child=
  return $status
}

path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Usage: in_root COMMAND...: runs a command in $root, below a shell that reaps what servers leave behind. The root sees no
# variable of the machine outside, whose TMPDIR and PG_CONFIG name what only that machine has.
in_root() {
  interruptible unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    root=$1 ccache=$2 path=$3 status=0
    shift 3
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777,noexec tmpfs "$root/srv"
    [ -z "$ccache" ] || mount --bind "$ccache" "$root/mnt"
    chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH="$path" "$@" || status=$?
    exit $status' bash "$root" "${ccache:-}" "$path" "$@"
}

# Usage: make_base SYSTEM PACKAGES: makes $top/base, a system with hardly more than these packages, separated by commas.
make_base() {
  local components=main
  case $1 in jammy | noble) components=main,universe ;; esac
  rm -rf --one-file-system "$top/base"
  # A mirror may be a snapshot, whose lists are old.
  interruptible mmdebstrap --variant=apt --include="$2" --components=$components \
    --aptopt='Acquire::Check-Valid-Until "false"' "$1" "$top/base" ${MIRROR:+"$MIRROR"} > "$logs/$1.log" 2>&1 ||
    { tail -n 5 "$logs/$1.log" >&2; return 1; }
}

# Usage: copy_tree FOLDER: copies the working tree there, what git ignores excepted.
copy_tree() {
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$1"
}
