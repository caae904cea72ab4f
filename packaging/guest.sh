# Run in a guest whose /sysroot is the Debian system with the packages installed: guest.sh yes|no. The argument says
# whether the kernel accepts a module that is not signed with one of its keys.
set -eu
takes=$1
for dir in proc sys dev; do mount --rbind /$dir /sysroot/$dir; done
for dir in tmp root; do mount -t tmpfs $dir /sysroot/$dir; done
inside() { chroot /sysroot /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }

! inside sh -c 'command -v cargo rustc' || exit 1
if [ "$takes" = no ]; then
    ! inside modprobe kinst || exit 1
    [ ! -e /sys/module/kinst ]
    echo "not loaded"
    exit
fi
begin=$(date +%s)
inside modprobe kinst
inside dtrace -n 'kinst::file_start_write:entry { @[probefunc, caller] = count(); }' -c 'cp /etc/passwd /tmp/copy'
echo "from modprobe to the first record: $(($(date +%s) - begin)) s"
inside rmmod kinst
