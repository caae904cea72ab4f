# types.sh: functions shared by the cases of types.case.

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

# Waits until it ends; its output is on stdout. Do not use it in a pipe: that is a subshell, which has no child to
# wait for.
finish() {
	wait $tracer
	[ $? != 127 ] || { echo "finish: the program is not a child of this shell" >&2; kill $$; }
	cat /tmp/err >&2
	grep -v '^ready$' /tmp/out
}

# A field of /proc/PID/stat, by its number in proc(5). The command name must not contain a blank.
stat_field() {
	cut -d ' ' -f "$2" /proc/$1/stat
}

same() {
	[ -n "$1" ] && [ "$1" = "$2" ] && echo "$3 is the same" || echo "$3: <$1> and <$2>"
}
