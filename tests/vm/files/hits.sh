# hits.sh: what the benchmarks of a hit share. A loop of calls is measured with each way to it, between two without any; a
# line "NAME NS" is what one hit costs, "NAME none REASON" says that it was not measured.
. ./peers.sh
calls=200000

lap() { load lap $calls; }

# report NAME NS BASE
report() { awk -v name="$1" -v ns="$2" -v base="$3" 'BEGIN { printf "%s %.1f\n", name, ns - base }'; }

# peer NAME PROBE: bpftrace.
peer() {
	base=$(lap)
	if ! attach "$2 { @ = count(); }" >/dev/null; then
		echo "$1 none $(tail -n 1 /tmp/attached)"
		return
	fi
	ns=$(lap)
	detach
	if awk -v calls=$calls '/^@: / && $2 >= calls { hit = 1 } END { exit !hit }' /tmp/attached; then
		report "$1" "$ns" "$base"
	else
		echo "$1 none $(tail -n 1 /tmp/attached)"
	fi
}

# ours NAME BACKEND PROBE. The kernel makes a jump of a kprobe a while after the breakpoint.
printf 'sleep 1\nload lap %d\n' $calls >later.sh
ours() {
	base=$(lap)
	dtrace -q -x backend=$2 -n "$3 { @ = count(); }" -c 'sh later.sh' >/tmp/counted 2>&1
	ns=$(awk '/^[0-9.]+$/ { print; exit }' /tmp/counted)
	if awk -v calls=$calls '/^ +[0-9]+$/ && $1 >= calls { hit = 1 } END { exit !hit }' /tmp/counted; then
		report "$1" "$ns" "$base"
	else
		echo "$1 none $(grep -v '^$' /tmp/counted | tail -n 1)"
	fi
}

# traced FUNCTION: how ftrace calls the function of a system call: compilers merge those of both ABIs.
traced() {
	awk -v f=$1 '$1 == f { print f; exit } $1 ~ "^__(x64|do)_" substr(f, 6) "$" { other = $1 } END { print other }' \
		$T/available_filter_functions | head -n 1
}
