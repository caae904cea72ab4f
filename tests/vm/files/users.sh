# users.sh: how many have the module; without it, how many places are still events of tracefs. Removing them takes a while.
if [ -d /sys/module/kinst ]; then
	lsmod | awk '$1 == "kinst" { print "users " $3 }'
	exit
fi
left() { grep -c dtrace_ /sys/kernel/tracing/kprobe_events; }
tries=0
while [ "$(left)" != 0 ] && [ $tries -lt 60 ]; do
	tries=$((tries + 1))
	sleep 0.5
done
echo "users $(left)"
