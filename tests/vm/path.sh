# path.sh OPTIONS CLAUSE: arms one instruction of getppid(), calls that forever in the background, and prints the
# instruction and the addresses. For `cargo xtask bench path`.
export PATH=/root:$PATH
function=__do_sys_getppid
. ./jump.sh
jumpy $function alone || exit 1
cat >started.sh <<'EOF'
>/tmp/started
exec load getppid 1000000000
EOF
# In a separate session, so that it continues when this script has ended.
setsid dtrace -q $1 -n "kinst::$function:$at $2" -c "sh settled.sh sh started.sh" >/dev/null 2>&1 &
i=0
until [ -e /tmp/started ]; do
	i=$((i + 1))
	[ $i -lt 1000 ] || exit 1
	sleep 0.2
done
# Checks for the requested variant: one jump, or none.
[ "$(cat /tmp/jumps)" = $([ -n "$1" ] && echo 0 || echo 1) ] || { echo "there are $(cat /tmp/jumps) jumps" >&2; exit 1; }
echo "probe $function $at"
cat /proc/kallsyms
