#!/bin/sh
# stress.sh stress-ng|trinity SECONDS: stress programs of other projects, in a tree of their own. stress-ng checks its
# results (--verify): a stressor that finds something wrong, also when it runs alone, fails the run; one that lacks
# something does not.
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

# The stressors of the kernel, one after the other for a second each, in eight rows side by side. Left out are those
# that need something a guest lacks, take the memory or the time of all others, or end the guest; io-uring sometimes
# fails without any probe; pthread does not wait for the thread that it made last when its time ends, which then may
# find the arguments on its stack overwritten; alarm waits for ever for a child that it told to end before it listened.
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
		# Some get in each other's way: a failure counts if it also occurs alone.
		for name in $(sed -n 's/.*fail: *\[[0-9]*\] \([a-z0-9-]*\)[: ].*/\1/p' /tmp/stress.* | sort -u); do
			chroot $tree stress-ng --$name 1 --timeout 2 --verify --temp-path /tmp >/tmp/alone 2>&1
			grep -h 'fail:' /tmp/alone && exit 1
		done
		[ $(date +%s) -lt $end ] || break
	done
}

# Not as root: it would find a way to end the guest.
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
