# Run in a guest whose /sysroot is a plain Debian system without debug information, where apt installs from directories:
#   apt.sh VERSION NEWER RELEASE
set -eu
version=$1 newer=$2 release=$3
mount -o remount,rw /sysroot
for dir in proc sys dev; do mount --rbind /$dir /sysroot/$dir; done
mount -t tmpfs tmp /sysroot/tmp
enter="chroot /sysroot /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive"
inside() { $enter "$@"; }
fail() {
    echo "FAIL  $*" >&2
    exit 1
}
ok() { echo "ok    $*"; }
apt() { inside apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; fail "apt-get $*"; }; }
packages() { echo "/packages/kinst_$1_amd64.deb /packages/kinst-dkms_$1_all.deb"; }
traces() {
    inside dtrace -qn 'kinst::file_start_write:entry /execname == "cp"/ { printf("%s in %s\n", probefunc, execname); exit(0); }' \
        -c 'cp /etc/passwd /tmp/copy' >/tmp/record 2>&1 || { cat /tmp/record >&2; fail "dtrace ends with an error"; }
    grep -q '^[a-z_0-9]* in cp$' /tmp/record || { cat /tmp/record >&2; fail "an inlined function is not traced"; }
}

! inside sh -c 'command -v cargo || command -v dtrace' || fail "this system is not plain: it has cargo or dtrace"
[ ! -e "/sysroot/usr/lib/debug/boot/vmlinux-$release" ] || fail "this system has debug information"
inside apt-get -qq update

begin=$(date +%s)
apt install "linux-headers-$release" $(packages "$version") "/packages/kinst-index-${release}_${version}_all.deb"
installed=$(date +%s)
[ ! -e /sys/module/kinst ] || fail "the module is loaded before it is needed"
traces
end=$(date +%s)
ok "apt install, with a compiler, headers and DKMS: $((installed - begin)) s; from there to the first record of an inlined function, without debug information: $((end - installed)) s"

apt purge "kinst-index-$release"
inside dtrace -qn 'kinst::file_start_write:entry { exit(0); }' 2>&1 | grep -q "apt install linux-image-$release-dbg" || fail "dtrace does not name the missing package"
begin=$(date +%s)
apt install "/packages/kinst-index-${release}_${version}_all.deb"
traces
ok "from apt install of only an index to the first record: $(($(date +%s) - begin)) s"

$enter dtrace -qn 'tick-1s { printf("tick %d\n", ++ticks); } kinst::file_start_write:entry { @["writes"] = count(); }' -o /tmp/session &
session=$!
until grep -q tick /sysroot/tmp/session 2>/dev/null; do sleep 1; done
apt install $(packages "$newer")
before=$(grep -c tick /sysroot/tmp/session)
sleep 5
kill -0 $session || fail "the upgrade ends a session"
[ "$(grep -c tick /sysroot/tmp/session)" -gt "$before" ] || fail "the upgrade stops a session"
kill -TERM $session
wait $session || fail "a session that ran during the upgrade ends with $?"
grep -q '^ *writes *[1-9]' /sysroot/tmp/session || fail "a session that ran during the upgrade has no aggregation"
inside kinst -V | grep -q "kinst $newer" || fail "kinst -V does not say $newer"
ok "upgrade from $version to $newer while a session runs, which continues with its module"

traces
rmmod kinst
traces
ok "after the upgrade, kinst $newer traces with the module of $version and, once that is unloaded, with its own"

rmmod kinst
apt purge kinst kinst-dkms "kinst-index-$release"
! find /sysroot/usr /sysroot/lib /sysroot/etc /sysroot/var/lib -xdev -name '*kinst*' | grep . || fail "purge leaves these files"
ok "purge leaves no file"
