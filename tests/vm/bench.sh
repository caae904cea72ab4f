# bench.sh: what one hit costs, in nanoseconds, by each way to it; a line "NAME NS" each. For `cargo xtask bench kmod`.
#
# What is hit is one instruction of getppid(), which is called in a loop. Each way is measured between two loops
# without any; a round of all of them is repeated.
export PATH=/root:$PATH
calls=200000
rounds=5
function=__do_sys_getppid

# An instruction at which a jump can stand, as long as one: then kprobes can have one there too.
. ./jump.sh
. ./peers.sh
jumpy $function 5 15 || exit 1
offset=$at
echo "$function+$offset is probed"

lap() { load lap $calls; }

# report NAME NS BASE
report() { awk -v name="$1" -v ns="$2" -v base="$3" 'BEGIN { printf "%s %.1f\n", name, ns - base }'; }

# kinst NAME OPTIONS CLAUSE
kinst() {
	base=$(lap)
	ns=$(dtrace -q $2 -n "kinst::$function:$offset $3" -c "sh settled.sh load lap $calls" | awk '/^[0-9.]+$/ { print; exit }')
	report "$1" "$ns" "$base"
}

# kernel NAME ARGUMENTS
kernel() {
	base=$(lap)
	insmod kbench.ko $2 || return
	sleep 1
	before=$(cat /sys/module/kbench/parameters/hits)
	ns=$(lap)
	after=$(cat /sys/module/kbench/parameters/hits)
	[ $((after - before)) -ge $calls ] || echo "$1 was not hit"
	rmmod kbench
	report "$1" "$ns" "$base"
}

# peer NAME: bpftrace.
peer() {
	base=$(lap)
	attach "kprobe:$function+$offset { @ = count(); }"
	ns=$(lap)
	detach
	if awk -v calls=$calls '/^@: / && $2 >= calls { hit = 1 } END { exit !hit }' /tmp/attached; then
		report "$1" "$ns" "$base"
	else
		echo "$1 was not hit:"
		cat /tmp/attached
	fi
}

for round in $(seq $rounds); do
	report base "$(lap)" 0
	for form in breakpoint jump; do
		[ $form = jump ] && option= || option='-x nojump'
		kinst "$form-empty" "$option" '{ }'
		[ $form = jump ] && [ "$(cat /tmp/jumps)" = 0 ] && echo "no jump was made"
		kinst "$form-predicate" "$option" '/pid == 0/ { }'
		kinst "$form-count" "$option" '{ @ = count(); }'
		kinst "$form-trace" "$option -b 16m" '{ trace(arg0); }' 
	done
	echo 0 >/proc/sys/debug/kprobes-optimization
	kernel kprobe-int3 "kind=kprobe symbol=$function offset=$offset"
	peer bpftrace-int3
	echo 1 >/proc/sys/debug/kprobes-optimization
	kernel kprobe-optimised "kind=kprobe symbol=$function offset=$offset"
	peer bpftrace-optimised
	traced=$(awk -v f=$function '$1 == f { print f; exit } $1 ~ /^__(x64|do)_sys_getppid$/ { other = $1 } END { print other }' \
		/sys/kernel/debug/tracing/available_filter_functions /sys/kernel/tracing/available_filter_functions 2>/dev/null | head -n 1)
	kernel ftrace "kind=ftrace symbol=$traced"
done

# How long it takes to arm and to release a great many, three times; the first time the trampolines are new.
awk '$2 ~ /^[tT]$/ && NF == 3 && $3 ~ /^(tcp|udp|ip|inet|sock|skb|vfs|ext4|security|crypto|cgroup|blk|bio|page|mem|net|dev)_/ && $3 !~ /[.]/ { print $3 }' \
	/proc/kallsyms | sort -u >functions
for round in 1 2 3; do
	points -q -n 20000 count all - -- true <functions 2>&1 | grep -v '^armed 20000 of 20000,'
done
