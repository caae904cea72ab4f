# peers.sh: bpftrace and perf, in a separate root file system.
. ./tree.sh
peers=/peers
[ ! -e peers.tar ] || tree peers

# nth N FUNCTION: the offset of its Nth instruction.
nth() { echo $(($(points list $2 | awk -v n=$1 'NR == n { print substr($1, 2) }'))); }

# attach PROGRAM: starts bpftrace and waits until it traces; $attached is its PID, its output is in /tmp/attached.
attach() {
	: >/tmp/attached
	chroot $peers bpftrace -e "$1 BEGIN { printf(\"ready\\n\"); }" >/tmp/attached 2>&1 &
	attached=$!
	tries=0
	until grep -qx ready /tmp/attached; do
		tries=$((tries + 1))
		kill -0 $attached 2>/dev/null && [ $tries -lt 600 ] || { cat /tmp/attached; return 1; }
		sleep 0.2
	done
	sleep 1
}

# counting PID: waits until a perf stat counts: it sleeps in wait once its events are enabled.
counting() {
	until ls -l /proc/$1/fd 2>/dev/null | grep -q perf_event && grep -q '^State:.*S' /proc/$1/status; do
		kill -0 $1 2>/dev/null || return 1
		sleep 0.05
	done
}

# attach_ways WAY...: bpftrace counts the hits of load at each of these probes.
attach_ways() {
	program=
	for way in "$@"; do
		program="$program $way /comm == \"load\"/ { @[\"$way\"] = count(); }"
	done
	attach "$program"
}

# detach: ends it, and waits for it.
detach() {
	kill -INT $attached
	wait $attached
}

# ways: how many probes of the last one have each count.
ways() {
	awk '/^@/ { ways[$NF]++ } END { for (hits in ways) print ways[hits] " ways " hits }' /tmp/attached
}

# Our counts for a command.
ours() {
	set -- "$(nth 5 ksys_read)" "$*"
	dtrace -q -c "$2" -n "
		fbt::ksys_read:entry /execname == \"load\"/ { @e = count(); }
		fbt::ksys_read:return /execname == \"load\"/ { @r = count(); }
		kinst::ksys_read:$1 /execname == \"load\"/ { @i = count(); }
		END { printa(\"entries %@d, \", @e); printa(\"returns %@d, \", @r); printa(\"inside %@d\\n\", @i); }"
}
