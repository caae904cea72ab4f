# interrupt.sh: sends a signal at a given moment of dtrace's start.
. ./teardown.sh
[ -e /sys/kernel/tracing/enabled_functions ] || mount -t tracefs none /sys/kernel/tracing

# The number of functions that ftrace serves. On arm64 the module itself has some.
traced() { grep -vc '^kinst_fentry_rest ' /sys/kernel/tracing/enabled_functions; }
at_first=$(traced)

# in_kernel PID FUNCTION: waits until a thread of the process is in this function of the kernel.
in_kernel() {
	until cat /proc/$1/task/*/stack 2>/dev/null | grep -q "$2"; do
		kill -0 $1 2>/dev/null || return 1
		sleep 0.05
	done
}

# The dtrace that is not $first, if any.
newest() {
	for pid in $(pidof dtrace); do
		[ $pid = "$first" ] || echo $pid
	done
}

# interrupted SIGNAL WHAT FUNCTION ARGUMENT...: runs dtrace with the arguments, sends the signal once it is in the
# function, and prints its status. The signal is not ignored, unlike in a background command.
interrupted() {
	signal=$1 what=$2 function=$3
	shift 3
	: >heard
	(
		until pid=$(newest) && [ -n "$pid" ] && in_kernel $pid $function; do sleep 0.05; done
		sleep 0.3
		kill -$signal $pid
	) &
	sender=$!
	dtrace "$@" >heard 2>&1
	echo "$what: $?"
	wait $sender
	cat heard
}

# left: prints leftovers of the sessions, once the last of them is disarmed.
left() {
	tries=0
	until used | grep -q 'sessions 0' || [ $tries = 600 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	used
	# This function stays registered for some seconds.
	echo "$(($(traced) - at_first)) functions of ftrace"
}

# hears TEXT: waits until the file heard, which is empty at first, has a line that matches.
hears() {
	until grep -q "$1" heard; do sleep 0.1; done
}
