# bench.sh: the cost of one hit in nanoseconds, with each method; a line "NAME NS" each. For `cargo xtask bench kmod`.
#
# The probe is on one instruction of getppid(), which is called in a loop. Each method is measured between two loops
# without a probe; a round of all methods is repeated.
export PATH=/root:$PATH
rounds=5
function=__do_sys_getppid
grep -q " $function\$" /proc/kallsyms || function=__arm64_sys_getppid

# An instruction that can be replaced by a jump, and is as long as one: then kprobes can have one there too.
. ./jump.sh
. ./hits.sh
jumpy $function alone || exit 1
offset=$at
echo "$function+$offset is probed"

# Not all architectures turn kprobes into jumps.
optimization=/proc/sys/debug/kprobes-optimization

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

# took COMMAND: its run time, in hundredths of a second.
took() {
	begin=$(cut -d ' ' -f 1 /proc/uptime)
	"$@" >/dev/null 2>&1
	cut -d ' ' -f 1 /proc/uptime | awk -v begin="$begin" '{ printf "%d\n", ($1 - begin) * 100 + 0.5 }'
}

# middle COMMAND: the median of nine.
middle() {
	for n in 1 2 3 4 5 6 7 8 9; do took "$@"; done | sort -n | sed -n 5p
}

# compared WHAT FIRST SECOND AIM: two times in hundredths of a second.
compared() {
	echo "$2 $3" | awk -v what="$1" -v aim="$4" '{ printf "%s: %.2f s, %.2f s, ratio %.2f%s\n", what, $1 / 100, $2 / 100, $2 / $1, aim }'
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
	[ ! -e $optimization ] || echo 0 >$optimization
	kernel kprobe-int3 "kind=kprobe symbol=$function offset=$offset"
	peer bpftrace-int3 "kprobe:$function+$offset"
	ours bpf-int3 bpf "kinst::$function:$offset"
	if [ -e $optimization ]; then
		echo 1 >$optimization
		kernel kprobe-optimised "kind=kprobe symbol=$function offset=$offset"
		peer bpftrace-optimised "kprobe:$function+$offset"
		ours bpf-optimised bpf "kinst::$function:$offset"
	fi
	kernel ftrace "kind=ftrace symbol=$(traced $function)"
done

# The time to arm and release very many probes, three times; the first time the trampolines are new.
awk '$2 ~ /^[tT]$/ && NF == 3 && $3 ~ /^(tcp|udp|ip|inet|sock|skb|vfs|ext4|security|crypto|cgroup|blk|bio|page|mem|net|dev)_/ && $3 !~ /[.]/ { print $3 }' \
	/proc/kallsyms | sort -u >functions
for round in 1 2 3; do
	points -q -n 20000 count all - -- true <functions 2>&1 | grep -v '^armed 20000 of 20000,'
done

# The time from the command to the first record of an inlined function, and until a script of 100 lines is loaded.
first() { middle dtrace -x backend=$1 -qn 'kinst::fsnotify_open:entry { exit(0); }' -c 'cat /etc/passwd'; }
first module >/dev/null
compared "first record, with the module and without" "$(first module)" "$(first bpf)" " (aim 1.75)"
sed 's/^dtrace:::BEGIN$/dtrace:::BEGIN { exit(0); }\n&/' script.d >loaded.d
compiled=$(middle dtrace -x backend=bpf -eqs loaded.d 100)
compared "a script of 100 lines, compiled and run without the module" "$compiled" "$(middle dtrace -x backend=bpf -qs loaded.d 100)" " (aim 3)"
