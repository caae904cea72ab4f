# hits.sh: functions shared by the benchmarks of a hit. A loop of calls is measured with each method, between two loops
# without probes; a line "NAME NS" is the cost of one hit, "NAME none REASON" means that it was not measured.
. ./peers.sh
calls=200000

lap() { load lap $calls; }

# report NAME NS BASE
report() { awk -v name="$1" -v ns="$2" -v base="$3" 'BEGIN { printf "%s %.1f\n", name, ns - base }'; }

# peer NAME PROBE: bpftrace.
peer() {
	[ -d $peers ] || return 0
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

# NAME BACKEND PROBE: measures dtrace. The kernel turns a kprobe into a jump some time after the breakpoint.
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

# traced FUNCTION: ftrace's name for the function of a system call: compilers merge the functions of both ABIs.
traced() {
	awk -v f=$1 '$1 == f { print f; exit } $1 ~ "^__(x64|do)_" substr(f, 6) "$" { other = $1 } END { print other }' \
		$T/available_filter_functions | head -n 1
}
