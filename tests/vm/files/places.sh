# places.sh: what the cases of places.case share.
T=/sys/kernel/tracing
[ -d $T/events ] || mount -t tracefs tracefs $T 2>/dev/null
[ -d $T/events ] || T=/sys/kernel/debug/tracing
export PATH=/root:$PATH

# hold KIND FUNCTION...: arms in the background and returns when it is done; $held is its process.
hold() {
	rm -f /tmp/held
	points hold "$@" >/tmp/held 2>&1 &
	held=$!
	until grep -q ^held /tmp/held 2>/dev/null; do
		kill -0 $held || { cat /tmp/held; return 1; }
		sleep 0.1
	done
	head -n 1 /tmp/held
}

# same COMMAND...: the kernel's text is the same before and after.
same() {
	before=$(points sum)
	"$@"
	[ "$before" = "$(points sum)" ] && echo text is the same || echo TEXT DIFFERS
}
