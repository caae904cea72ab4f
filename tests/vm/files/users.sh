# users.sh: the number of users of the module; without it, of tracefs events left. Removing them takes a while.
if [ -d /sys/module/kinst ]; then
	lsmod | awk '$1 == "kinst" { print "users " $3 }'
else
	. ./places.sh
	gone
	echo "users $(grep -c dtrace_ $T/kprobe_events)"
fi
