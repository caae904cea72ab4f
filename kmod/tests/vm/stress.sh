#!/bin/sh
# stress.sh stress-ng|trinity SECONDS: stress programs of other projects, in a separate tree. stress-ng checks its
# results (--verify): a stressor that reports an error, also when it runs by itself, fails the run; one that lacks
# a requirement does not.
tree=/stressors
if [ ! -d $tree ]; then
	. ./tree.sh
	tree stressors
	mkdir -p $tree/run
	mount -t tmpfs stress $tree/tmp
	ip addr show lo | grep -q 127.0.0.1 || ip addr add 127.0.0.1/8 dev lo
	ip link set lo up
fi
seconds=${2%.*}

# The stressors of the kernel, in sequence for a second each, in eight parallel rows. Excluded: stressors that need
# something a guest lacks, take the memory or the time of all others, or end the guest; io-uring, which sometimes fails
# without any probe; pthread, which does not wait for its last thread when its time ends, so that this thread may find
# its arguments overwritten; alarm, which waits forever for a child that it signalled too early.
stress_ng() {
	out="alarm bad-altstack bigheap brk cpu-online exec io-uring iomix loadavg loop memhotplug oom-pipe pthread ramfs reboot resched softlockup stack"
	out="$out sysinval watchdog zombie"
	names=$(chroot $tree stress-ng --class 'os?' | sed 's/.*: //')
	mkdir -p $tree/tmp/rows
	echo "$names affinity context hrtimers membarrier netdev rawdev" | tr ' ' '\n' | awk -v out="$out" '
	BEGIN { split(out, no, " "); for (i in no) left[no[i]] }
	!($1 in left) && NF { print $1, 1 >("'$tree'/tmp/rows/" n++ % 8) }'
	while :; do
		for row in 0 1 2 3 4 5 6 7; do
			(echo run sequential; cat $tree/tmp/rows/$row) >$tree/tmp/rows/$row.job
			chroot $tree stress-ng --job /tmp/rows/$row.job --timeout 1 --verify --temp-path /tmp --vm-bytes 8m \
				--mmap-bytes 8m --oomable >/tmp/stress.$row 2>&1 &
		done
		wait
		# Some interfere with each other: a failure counts only if the stressor also fails by itself.
		for name in $(sed -n 's/.*fail: *\[[0-9]*\] \([a-z0-9-]*\)[: ].*/\1/p' /tmp/stress.* | sort -u); do
			chroot $tree stress-ng --$name 1 --timeout 2 --verify --temp-path /tmp >/tmp/alone 2>&1
			grep -h 'fail:' /tmp/alone && exit 1
		done
		[ $(date +%s) -lt $end ] || break
	done
}

# Not as root: it would manage to end the guest.
trinity() {
	cp nobody /bin/busybox $tree
	while [ $(date +%s) -lt $end ]; do
		rm -rf $tree/tmp/work && mkdir -m 777 $tree/tmp/work
		timeout -s KILL $((end - $(date +%s))) chroot $tree /nobody /busybox sh -c 'cd /tmp/work && exec trinity -C 4 -q -l off' \
			>/tmp/stress.trinity 2>&1
	done
	killall -q -KILL trinity
}

end=$(($(date +%s) + seconds))
case $1 in
stress-ng) stress_ng ;;
*) trinity ;;
esac
echo "$1 ran"
