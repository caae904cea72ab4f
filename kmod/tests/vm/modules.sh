#!/bin/sh
# modules.sh SECONDS: a workload for modules, with checks: stacked file systems on loop devices, and packets
# between two network namespaces, over a bridge. Runs at least one round, until the time is up. Prints "rounds N", or
# the error.
end=$(($(date +%s) + ${1%.*}))
dir=$(mktemp -d /tmp/modules.XXXXXX)
mount -t tmpfs modules $dir && cd $dir || exit 1
mkdir disk lower upper merged

fail() {
	echo "modules: $*"
	exit 1
}

# Data written to a file system is preserved when it is mounted again.
file_system() {
	truncate -s 8M image
	$2 image >made 2>&1 || fail "$2: $(cat made)"
	mount -t $1 -o loop image disk || fail "mount $1"
	cp /bin/busybox disk/a && mkdir disk/dir && mv disk/a disk/dir/b && echo $1 >disk/c && sync
	umount disk || fail "umount $1"
	mount -t $1 -o loop image disk || fail "mount $1 again"
	cmp /bin/busybox disk/dir/b || fail "a file of $1 has different contents"
	[ "$(cat disk/c)" = $1 ] || fail "a short file of $1 has different contents"
	rm -r disk/dir disk/c
	umount disk || fail "umount $1"
	rm image
}

layers() {
	mkdir -p upper/files upper/work
	echo below >lower/a
	mount -t overlay -o lowerdir=lower,upperdir=upper/files,workdir=upper/work overlay merged || fail "mount overlay"
	[ "$(cat merged/a)" = below ] || fail "the lower layer is not visible"
	echo above >>merged/a
	[ "$(cat lower/a)" = below ] && [ "$(cat upper/files/a)" = "below
above" ] || fail "the copy is another"
	rm merged/a
	[ ! -e merged/a ] && [ -e lower/a ] || fail "a removed file is visible"
	umount merged || fail "umount overlay"
	rm -r upper/files upper/work
}

packets() {
	unshare -n httpd -f -h /bin &
	other=$!
	ip link add pair0 type veth || fail "veth"
	until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do :; done
	ip link set veth0 netns $other || fail "the other namespace"
	brctl addbr bridge0 && brctl addif bridge0 pair0 || fail "bridge"
	ip addr add 10.9.8.1/24 dev bridge0
	ip link set pair0 up
	ip link set bridge0 up
	nsenter -n -t $other ip addr add 10.9.8.2/24 dev veth0
	nsenter -n -t $other ip link set veth0 up
	until printf 'GET /busybox HTTP/1.0\r\n\r\n' | nc 10.9.8.2 80 >got 2>/dev/null; do sleep 0.05; done
	tail -c $(stat -c %s /bin/busybox) got | cmp /bin/busybox - || fail "data was corrupted over the network"
	kill $other
	wait $other 2>/dev/null
	ip link del bridge0
}

rounds=0
while :; do
	file_system ext4 "mke2fs -F"
	file_system vfat mkdosfs
	layers
	packets
	rounds=$((rounds + 1))
	[ $(date +%s) -lt $end ] || break
done
cd / && umount $dir && rmdir $dir
echo "rounds $rounds"
