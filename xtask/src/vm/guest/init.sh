#!/bin/busybox sh
# The guest's first process. It opens the ports to the host, then runs what the host requests, one at a time.
#   control port  host: `run ID` | guest: `ready`, `failed TEXT`, `exit ID STATUS`
#   pulse port    host: `ping N` → `pong N`; `stacks` → backtraces of all CPUs and blocked tasks into the kernel's log
#   out, err      the command's output, then MARK at the end of each run
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux LANG=C.UTF-8 USER=root SHELL=/bin/sh
/bin/busybox --install -s
. /etc/guest.conf

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
hostname guest

for module in /etc/transport/*.ko; do
    [ -e "$module" ] && insmod "$module"
done

# A port appears a moment after its driver does, and can be opened a moment after that.
port() {
    tries=0
    until [ -e /dev/vport*p"$1" ] && (exec 7<>"$(echo /dev/vport*p"$1")") 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -gt 500 ] && echo "guest: no virtio port $1" && poweroff -f
        usleep 10000
    done
    echo /dev/vport*p"$1"
}
exec 5<>"$(port 1)" 6<>"$(port 2)" 8<>"$(port 3)" 9<>"$(port 4)"

if [ -n "$DISK" ]; then
    tries=0
    until mount -t ext4 -o ro,noatime /dev/$DISK /sysroot 2>/run/mount; do
        tries=$((tries + 1))
        [ $tries -gt 300 ] && echo "failed mounting /dev/$DISK: $(cat /run/mount)" >&9 && break
        usleep 10000
    done
fi
ip link set lo up
if [ -e /etc/module/kinst.ko ] && ! insmod /etc/module/kinst.ko 2>/run/insmod; then
    echo "failed insmod: $(cat /run/insmod)" >&9
fi

while read -r verb number; do
    case $verb in
    ping) echo "pong $number" ;;
    stacks) for key in l w; do echo $key >/proc/sysrq-trigger; done ;;
    esac
done <&8 >&8 5>&- 6>&- 9>&- &

# Processes that a command left running would hold its output open without end. The one that removes dtrace's events
# ends by itself.
end_session() {
    for stat in /proc/[0-9]*/stat; do
        read -r line 2>/dev/null <"$stat" || continue
        pid=${line%% *}
        # After the name, which may hold blanks: state, parent, group, session.
        set -- "$1" ${line##*) }
        [ "$5" = "$1" ] && ! grep -qs remove-events-of "/proc/$pid/cmdline" && kill -KILL "$pid"
    done
}

mkfifo /run/out /run/err
run() {
    echo "<6>kinst-vm: begin $1" >/dev/kmsg
    cat /run/out >&5 &
    out=$!
    cat /run/err >&6 &
    err=$!
    # Not in the background: a shell without job control would make its background ignore interrupts.
    (
        exec >/run/out 2>/run/err </dev/null 5>&- 6>&- 8>&- 9>&-
        cd /root
        exec setsid sh -c 'echo $$ >/run/session; exec sh /etc/runs/'"$1"
    )
    status=$?
    end_session "$(cat /run/session)"
    wait $out $err
    printf '%s' "$MARK" >&5
    printf '%s' "$MARK" >&6
    echo "<6>kinst-vm: end $1" >/dev/kmsg
    echo "exit $1 $status" >&9
}

echo ready >&9
while read -r verb id <&9; do
    [ "$verb" = run ] && run "$id"
done
poweroff -f
