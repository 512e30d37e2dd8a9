# Turns package records (dpkg's status file, apt-cache dumpavail) into rows for COPY: source, package, description.
# Usage: awk -v source=NAME -v long=0|1 -f packages.awk. With long=1 it prints only descriptions of several lines, otherwise
# only the first line of each.
function flush_record() {
  gsub(/[ \t]+/, " ", description)
  gsub(/\\/, "\\\\", description)
  if (package != "" && description != "" && (!long || lines > 1)) print source "\t" package "\t" description
  package = description = ""
  lines = inside = 0
}
/^$/ { flush_record(); next }
/^Package: / { package = $2 }
/^Description(-en)?: / { description = substr($0, index($0, ":") + 2); inside = 1; lines = 1; next }
/^[^ ]/ { inside = 0 }
inside && long { if ($0 != " .") { description = description $0; ++lines } }
END { flush_record() }
