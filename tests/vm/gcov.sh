# gcov.sh: the code of ext4 that a load executes, by --coverage and by the kernel's counters: an lcov file, and gcov
# files in hexadecimal.
mount -t debugfs none /sys/kernel/debug 2>/dev/null
insmod "$(find /lib/modules/"$(uname -r)"/ -name loop.ko | head -n 1)"
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
mke2fs -F /tmp/image >/dev/null 2>&1
losetup /dev/loop0 /tmp/image
cat >load.sh <<'END'
mkdir -p /tmp/there
echo 0 >/sys/kernel/debug/gcov/reset
mount -t ext4 /dev/loop0 /tmp/there
cd /tmp/there
for n in 1 2 3; do
	cp /bin/busybox $n
	mkdir folder$n
	ln -s nowhere link$n
	ln folder$n hard$n 2>/dev/null
	mv $n folder$n/
	ls -lR . >/dev/null
done
sync
rm -r folder1 nowhere 2>/dev/null
dd if=/dev/zero of=large bs=64k count=100 2>/dev/null
truncate -s 1000 large
df . >/dev/null
cd /
umount /tmp/there
cp -r /sys/kernel/debug/gcov /tmp/counters
END
dtrace --coverage fs/ext4/ -c 'sh load.sh' --lcov ours.info >/dev/null 2>&2 || exit
cat ours.info
find /tmp/counters -name '*.gcda' | while read -r file; do
	echo "counters:${file##*/}"
	od -An -v -tx1 "$file" | tr -d ' '
done
