# arm.sh: the time to arm and to release many functions. For `cargo xtask bench arm`.
#
# A line "NAME PLACES ARMED ENDED GONE" each, in seconds (arming.c), or "NAME none REASON".
. ./places.sh
. ./peers.sh
rounds=3
limit=120

# NAME PROBE: measures dtrace.
ours() { echo "$1 $(arming $limit ' matched ' dtrace -x backend=bpf -n "$2 { @ = count(); }")"; }

# peer NAME PROBE: bpftrace, whose BEGIN prints a line when all probes are armed.
peer() {
	echo "$1 $(arming $limit ready chroot $peers bpftrace -e "$2 { @ = count(); } BEGIN { printf(\"ready\\n\"); }")"
}

for round in $(seq $rounds); do
	ours bpf-entry 'fbt::vfs_*:entry'
	peer bpftrace-kfunc 'kfunc:vfs_*'
	peer bpftrace-kprobe 'kprobe:vfs_*'
	ours bpf-return 'fbt::vfs_*:return'
	peer bpftrace-kretfunc 'kretfunc:vfs_*'
	peer bpftrace-kretprobe 'kretprobe:vfs_*'
done
limit=300
ours bpf-all 'fbt:::entry'
