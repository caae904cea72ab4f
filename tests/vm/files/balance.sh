# balance.sh: entries and returns of inlined functions over a workload. balance NAMES [SIZE]: the functions of a file,
# SIZE at a time. A line for each one that was hit: name, places, entries, returns; and a summary.
#
# Only the program itself is counted: other threads may be in the middle of a call when tracing begins or ends, which
# would be half a call. A function with a place that cannot be traced is excluded as a whole.

program() {
	while read -r f; do
		echo "kinst::$f:entry /execname == \"work\"/ { @e[\"$f\"] = count(); }"
		echo "kinst::$f:return /execname == \"work\"/ { @r[\"$f\"] = count(); }"
	done
	echo 'END { printa("E %s %@d\n", @e); printa("R %s %@d\n", @r); }'
}

# The place and function of each probe, from a program printed by -d.
places() {
	awk '/^(kinst|fbt):/ { sub(/,$/, ""); place[n++] = $1 }
		/^@/ || /@[er]\[/ { split($0, part, "\""); for (i = 0; i < n; i++) print place[i], part[2]; n = 0 }'
}

# The names of functions that do not exist here, or have refused places.
unwanted() {
	sed -n 's/^dtrace: \([^ ]*\) cannot be traced: .*/\1/p' err >refused
	sed -n 's/^dtrace: kinst::\([^:]*\):[a-z]* is left out: .*/\1/p' err
	awk 'NR == FNR { bad[$1] = 1; next } $1 in bad { print $2 }' refused map
	sed -n 's/.*inlined copies of `\(.*\)` can be traced.*/\1/p; s/.*: no function `\([^`]*\)`.*/\1/p; s/.*the function `\(.*\)` has no code.*/\1/p; s/.*the code of `\(.*\)` was freed.*/\1/p' err
}

# The workload, and time for its last thread to leave the kernel: else tracing may end in the middle of that.
printf './work 2\nsleep %d\n' $PACE >load.sh

# A run over the workload; false if a place was refused. -v only if necessary: its output for each place takes longest.
counted() {
	dtrace -Z -x bufsize=1m -x aggsize=4m -qs b.d -c 'sh load.sh' >out 2>err || return 1
	grep -q 'cannot be traced: ' err || return 0
	! grep -q 'more; -v lists all$' err || dtrace -Z -v -x bufsize=1m -x aggsize=4m -qs b.d -c true >/dev/null 2>err
	return 1
}

chunk() {
	for round in 1 2 3 4 5 6 7 8; do
		program <names >b.d
		# -Z skips functions that another version of the kernel does not have.
		if dtrace -Z -e -ds b.d >expanded 2>err; then
			places <expanded >map
			if counted; then
				awk 'NR == FNR { places[$2]++; next } $1 == "E" { e[$2] = $3 } $1 == "R" { r[$2] = $3 }
					END { for (f in e) print "F", f, places[f], e[f], r[f] + 0
						for (f in r) if (!(f in e)) print "F", f, places[f], 0, r[f] }' map out
				return
			fi
		else
			: >map
		fi
		unwanted | sort -u >drop
		[ -s drop ] || break
		sed 's/^/left out /' drop
		awk 'NR == FNR { bad[$1] = 1; next } !($1 in bad)' drop names >left
		mv left names
	done
	echo "gave up:"
	grep -v '^	\|^$' err | head -n 5
}

balance() {
	ip link set lo up 2>/dev/null || ifconfig lo up
	awk -v n="${2:-100}" '{ print > ("chunk." 1000 + int((NR - 1) / n)) }' "$1"
	for c in chunk.*; do
		mv $c names
		chunk
	done >table
	sort table
	awk '$1 == "F" { hit++; places += $3; entries += $4; if ($4 == $5) same++; else differ++ }
		END { print "hit " hit + 0 ", places " places ", entries " entries ", balanced " same + 0 ", not " differ + 0 }' table
	# Only the end of the output is shown for a failing case.
	awk '$1 == "F" && $4 != $5 { print "not balanced:", $0 }' table
}
