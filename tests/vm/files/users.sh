# users.sh: how many have the module; without it, how many places are still events of tracefs. Removing them takes a while.
if [ -d /sys/module/kinst ]; then
	lsmod | awk '$1 == "kinst" { print "users " $3 }'
else
	. ./places.sh
	gone
	echo "users $(grep -c dtrace_ $T/kprobe_events)"
fi
