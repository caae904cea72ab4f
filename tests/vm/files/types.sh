# What the cases of types.case share.

# Starts a D program, and returns when its probes are armed.
start() {
	: >/tmp/out
	timeout 60 dtrace -qn "BEGIN { printf(\"ready\\n\"); } $1" >/tmp/out 2>/tmp/err &
	tracer=$!
	until grep -q ready /tmp/out || ! kill -0 $tracer 2>/dev/null; do sleep 0.05; done
	! grep -q ready /tmp/out || return 0
	echo "the program did not start:"
	cat /tmp/err
}

# Waits for the end of it; what it printed is on stdout. Not in a pipe: the shell there is another one, which has no child
# to wait for.
finish() {
	wait $tracer
	[ $? != 127 ] || { echo "finish: the program is no child of this shell" >&2; kill $$; }
	cat /tmp/err >&2
	grep -v '^ready$' /tmp/out
}

# A field of /proc/PID/stat, by the number that proc(5) gives it. The name of the command has no blank in it.
stat_field() {
	cut -d ' ' -f "$2" /proc/$1/stat
}

same() {
	[ -n "$1" ] && [ "$1" = "$2" ] && echo "$3 is the same" || echo "$3: <$1> and <$2>"
}
