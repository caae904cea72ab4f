# places.sh: functions shared by the cases that arm places.
T=/sys/kernel/tracing
[ -d $T/events ] || mount -t tracefs tracefs $T 2>/dev/null
[ -d $T/events ] || T=/sys/kernel/debug/tracing
export PATH=/root:$PATH

# hold KIND FUNCTION...: arms in the background and returns when it is done; $held is its PID.
hold() {
	rm -f /tmp/held
	points hold "$@" >/tmp/held 2>&1 &
	held=$!
	until grep -q ^held /tmp/held 2>/dev/null; do
		kill -0 $held || { cat /tmp/held; return 1; }
		sleep 0.05
	done
	head -n 1 /tmp/held
}

# same COMMAND...: checks that the kernel's text is the same before and after.
same() {
	before=$(points sum)
	"$@"
	[ "$before" = "$(points sum)" ] && echo text is the same || echo TEXT DIFFERS
}

# restored: waits until the kernel's text is the same as in $before. A process that has ended leaves none of our probes,
# unless it had a thousand or more; other kprobes are removed shortly after.
restored() {
	i=0
	until [ "$before" = "$(points sum)" ]; do
		i=$((i + 1))
		[ $i -lt 100 ] || { echo TEXT DIFFERS; return 1; }
		sleep 0.05
	done
	echo text is the same
}

# armed LOG: waits until the dtrace that writes LOG has reported its matches.
armed() {
	i=0
	until grep -q ' matched ' $1; do
		i=$((i + 1))
		[ $i -lt 1600 ] || { echo "not armed:"; cat $1; return 1; }
		sleep 0.05
	done
}

# module NAME: unpacks one of the kernel's modules into /tmp/NAME.ko.
module() {
	file=$(find /lib/modules/$(uname -r)/ -name "$1.ko*" | head -n 1)
	case $file in *.xz) xzcat $file ;; *) cat $file ;; esac >/tmp/$1.ko
}

# gone: waits until no event of dtrace is left in tracefs, nor a kprobe that the kernel has yet to free.
gone() {
	i=0
	while grep -qs -e dtrace_ -e DISABLED $T/kprobe_events /sys/kernel/debug/kprobes/list && [ $i -lt 300 ]; do
		i=$((i + 1))
		sleep 0.1
	done
}
