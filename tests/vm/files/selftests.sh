# selftests.sh PROBED [FTRACE-TEST...]: the kernel's selftests, while PROBED functions are probed. Prints "RESULT NAME"
# for each; the tests of livepatch run if the kernel has the modules that they load.
probed=$1
shift
tar -xf selftests.tar
here=$PWD
# hold FIRST: every sixteenth instruction, from the FIRST of a function on.
hold() {
	[ $probed -gt 0 ] || return
	cd $here
	: >/tmp/held
	sh functions.sh $probed | ./points hold sparse:16:$1 - >/tmp/held &
	holder=$!
	until grep -q held /tmp/held; do sleep 0.2; done
	cat /tmp/held >&2
}
hold 0
# They send packets to this machine.
ip addr show lo | grep -q 127.0.0.1 || ip addr add 127.0.0.1/8 dev lo
cd ftrace
sh ./ftracetest -l /tmp/logs "$@" | sed -n 's/^\[[0-9]*\]\(.*\)\t\[\([A-Z]*\)\]$/\2\1/p'
for log in /tmp/logs/*-log.*; do
	[ -e $log ] && echo "$log:" >&2 && tail -n 12 $log >&2
done
# While a function's entry is probed, ftrace cannot be switched off, which test-ftrace.sh requires.
[ $probed -eq 0 ] || { kill $holder; wait $holder; hold 3; }
cd $here/livepatch
# Not busybox's version, which its shell prefers.
if /usr/bin/modprobe -n test_klp_livepatch 2>/dev/null; then
	for test in test-*.sh; do
		bash ./$test >/tmp/log 2>&1 && echo "PASS $test" || { echo "FAIL($?) $test"; tail -n 12 /tmp/log >&2; }
	done
fi
exit 0
