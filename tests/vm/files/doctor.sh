# doctor.sh: a Debian machine, ways to break it, and `dtrace doctor` before and after the command that it prints.

REL=$(uname -r)
DIR=/lib/modules/$REL
KO=$DIR/updates/dkms/kinst.ko
mount -t securityfs none /sys/kernel/security 2>/dev/null
[ -d /etc/stand-in ] || {
    mkdir -p /etc/stand-in
    echo 'ID=debian' >/etc/os-release
    # The disk's tree is read-only: the module gets one in memory.
    rm $DIR && mkdir -p $DIR/build $DIR/updates/dkms && : >$DIR/build/Makefile && : >$DIR/modules.dep
}

# A guest cannot reach the archive or run DKMS: these scripts install what the packages and a DKMS build would.
cat >/usr/bin/apt <<'END'
#!/bin/sh
[ "$1 $2" = "install -y" ] || exit 1
REL=$(uname -r)
case $3 in
kinst-dkms)
    mkdir -p /lib/modules/$REL/updates/dkms && cp /etc/module/kinst.ko /lib/modules/$REL/updates/dkms/
    echo "updates/dkms/kinst.ko:" >/lib/modules/$REL/modules.dep ;;
linux-headers-$REL) mkdir -p /lib/modules/$REL/build && : >/lib/modules/$REL/build/Makefile ;;
linux-image-$REL-dbg)
    umount /usr/lib/debug 2>/dev/null
    rm -rf /usr/lib/debug; ln -s /sysroot/usr/lib/debug /usr/lib/debug ;;
kmod) ln -sf /bin/busybox /sbin/modprobe ;;
debuginfod) printf '#!/bin/sh\nexit 1\n' >/usr/bin/debuginfod-find && chmod 755 /usr/bin/debuginfod-find ;;
*) exit 1 ;;
esac
END
cat >/usr/bin/apt-cache <<'END'
#!/bin/sh
# The package lists: unknown packages have no lines.
case "$1 $2" in
"policy kinst"|"policy kinst-dkms"|"policy linux-headers-$(uname -r)"|"policy linux-image-$(uname -r)-dbg"|"policy kmod"|"policy debuginfod")
    [ -e /run/no-lists ] || printf '%s:\n  Installed: (none)\n  Candidate: 1\n  Version table:\n' "$2" ;;
esac
END
cat >/usr/bin/dkms <<'END'
#!/bin/sh
exec apt install -y kinst-dkms
END
chmod 755 /usr/bin/apt /usr/bin/apt-cache /usr/bin/dkms
apt install -y kinst-dkms

# The line of a check, in /run/line.
look() { "$@" dtrace doctor --json >/run/doctor 2>/run/doctor.err; echo $? >/run/doctor.status; }
line() { grep "^{\"check\":\"$1\"" /run/doctor >/run/line; }
state() { line "$1"; sed 's/.*"state":"\([a-z]*\)".*/\1/' /run/line; }
verdict() { line tracing; sed 's/.*"found":"\(.*\)","mend".*/\1/' /run/line; }
mend() { line "$1"; sed -n 's/.*"mend":"\(.*\)","state".*/\1/p' /run/line | sed 's/\\"/"/g; s/\\\\/\\/g'; }

# A broken state: the report, the printed command, and the report after it.
mended() {
    look
    before=$(state "$1")
    command=$(mend "$1")
    echo "# $1: $(sed 's/.*"found":"\(.*\)","mend".*/\1/' /run/line)"
    echo "# $command"
    eval "$command" >/run/said 2>&1 || echo "# it failed: $(cat /run/said)"
    look
    echo "$2: $before, then $(state "$1")"
}
