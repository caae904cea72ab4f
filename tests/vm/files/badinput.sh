# badinput.sh: functions shared by the cases of badinput.case.
. ./places.sh

# healthy: no probe is left, the module is unused, tracing works.
healthy() {
	sum=$(points sum)
	[ "$sum" = "$before" ] && echo text is the same || echo TEXT DIFFERS
	sh users.sh
	dtrace -qn 'fbt::__*64_sys_getppid:entry /execname == "load"/ { @ = count(); }' -c '/root/load getppid 10' 2>/dev/null | awk 'NF == 1 { print "counts " $1 }'
}

# Leftovers of an earlier case are not counted.
rm -f log ?.log
before=$(points sum)
