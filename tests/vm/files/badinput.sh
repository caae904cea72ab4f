# badinput.sh: what the cases of badinput.case share.
. ./places.sh

# healthy: no probe is left, nobody has the module, tracing works.
healthy() {
	sum=$(points sum)
	[ "$sum" = "$before" ] && echo text is the same || echo TEXT DIFFERS
	sh users.sh
	dtrace -qn 'fbt::__do_sys_getppid:entry /execname == "load"/ { @ = count(); }' -c '/root/load getppid 10' 2>/dev/null | awk 'NF == 1 { print "counts " $1 }'
}

# What an earlier case has left says nothing of this one.
rm -f log ?.log
before=$(points sum)
