# counted.sh: the calls of functions under a load, counted by an instrumented kernel and by dtrace. counted.sh: only the
# kernel's counts; counted.sh PROGRAM.d: both, and the refused places.
#
# Both count only processes with no_new_privs, outside of interrupts: all processes of the load are such, and no others.
counted=/sys/kernel/debug/counted
grep -q ' /sys/kernel/debug ' /proc/mounts || mount -t debugfs none /sys/kernel/debug
grep -q '^loop ' /proc/modules || insmod "$(find /lib/modules/"$(uname -r)"/ -name loop.ko | head -n 1)"
ip link set lo up
rm -rf load.here && mkdir -p load.here
[ ! -d $counted ] || echo Y >$counted/on

cat >load.sh <<'END'
cd load.here
../work 1
there=/tmp/there
mkdir -p $there
mount -t tmpfs none $there
dd if=/dev/zero of=$there/image bs=64k count=64 2>/dev/null
mke2fs -F $there/image >/dev/null 2>&1
losetup /dev/loop0 $there/image
mkdir $there/disk
mount -t ext4 /dev/loop0 $there/disk
for place in $there/disk $there; do
	cd $place
	dd if=/bin/busybox of=file bs=16k count=4 2>/dev/null
	cp file copy1
	mkdir -p folder1/below
	ln -s nowhere link1
	ln copy1 hard1
	mv hard1 folder1/
	ls -lR . >/dev/null
	wc file copy1 >/dev/null
	chmod 600 copy1
	chown 65534 copy1
	touch -d 2001-01-01 file
	echo more >>file
	truncate -s 1000 copy1
	dd if=/dev/zero of=sparse bs=4k count=3 seek=500 2>/dev/null
	dd if=sparse of=/dev/null bs=64k 2>/dev/null
	mkfifo fifo
	cat fifo >/dev/null & echo words >fifo
	wait
	sync
	df . >/dev/null
	rm -r folder1 link1 copy1 fifo
done
cd /
mount --bind $there/disk /mnt 2>/dev/null && umount /mnt
umount $there/disk
losetup -d /dev/loop0
umount $there
cat /proc/self/maps /proc/self/smaps /proc/meminfo /proc/mounts /proc/vmstat /proc/slabinfo /proc/net/tcp /proc/stat >/dev/null
ls -l /proc/self/fd /proc/self/ns /sys/block /sys/class/net >/dev/null
ps >/dev/null
cat /sys/kernel/mm/transparent_hugepage/enabled >/dev/null
sysctl vm >/dev/null 2>&1
(echo a; sleep 0.1; echo b) | grep b | tr b c >/dev/null
nc -l -p 4321 >/dev/null & nc 127.0.0.1 4321 </bin/busybox & sleep 1; kill %1 %2
wait
END
cat >run.sh <<'END'
[ ! -d /sys/kernel/debug/counted ] || echo >/sys/kernel/debug/counted/calls
setpriv --nnp sh load.sh >/dev/null 2>load.err
# Processes that have ended may still be exiting in the kernel.
sleep 2
END

if [ $# = 0 ]; then
	sh run.sh
	exec cat $counted/calls
fi
dtrace -Z -x bufsize=1m -x aggsize=16m -qs "$1" -c 'sh run.sh' >out 2>err || { tail -n 5 err >&2; exit 1; }
cat out
sed -n 's/^dtrace: \([^ ]*\) cannot be traced: .*/refused \1/p; s/^dtrace: … and \([0-9]*\) more; -v lists all$/refused \1 more/p' err
grep '^dtrace: ' err | grep -v ' cannot be traced: ' | sort | uniq -c | sort -rn | head -n 20 >&2
[ -d $counted ] || exit 0
echo "kernel:"
# Only the counts of the program's functions, with their clones and parts: all counts would be megabytes on the console.
sed -n 's/^kinst::\([^:]*\):entry .*/\1/p' "$1" |
	awk 'NR == FNR { wanted[$1]; next } { name = $3; sub(/\..*/, "", name) } name in wanted || $1 == "lost"' - $counted/calls
