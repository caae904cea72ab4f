# One-liners over kernel types, each with its output.

show() {
	echo "# $1"
	shift
	echo "\$ $*"
}

# Runs a one-line program while a command runs.
run() {
	show "$1" "dtrace -qn '$2'"
	: >/tmp/out
	timeout 60 dtrace -qn "BEGIN { printf(\"ready\\n\"); } $2" >/tmp/out 2>/tmp/err &
	tracer=$!
	until grep -q ready /tmp/out || ! kill -0 $tracer 2>/dev/null; do sleep 0.05; done
	sh -c "$3" >/dev/null 2>&1
	wait $tracer
	cat /tmp/err
	sed '/^ready$/d; /^$/d' /tmp/out
	echo
}

mkdir -p /tmp/one/two
echo contents >/tmp/one/two/three
echo "# $(uname -r)"
run "the current thread, by members that are pointers, arrays and structures" \
	'BEGIN { printf("%s pid %d parent %s uid %d cpu %d\n", curthread->comm, curthread->tgid, curthread->real_parent->comm, curthread->real_cred->uid.val, curthread->thread_info.cpu); exit(0); }' true
run "variables of the kernel, of the kernel proper and in any module" \
	'BEGIN { printf("jiffies %d, %s has pid %d\n", `jiffies != 0, vmlinux`init_task.comm, `init_task.pid); printf("%.20s\n", stringof(`linux_banner)); exit(0); }' true
run "the name of a file, by a cast" \
	'fbt::vfs_read:entry /execname == "dd"/ { printf("%s in %s\n", stringof(((struct file *)arg0)->f_path.dentry->d_name.name), stringof(((struct file *)arg0)->f_path.dentry->d_parent->d_name.name)); exit(0); }' \
	'dd if=/tmp/one/two/three of=/dev/null'
run "the same by a typed argument, and its whole path" \
	'fbt::vfs_open:entry /execname == "cat"/ { printf("%s %s\n", stringof(args[0]->dentry->d_name.name), d_path(args[0])); } fbt::do_group_exit:entry /execname == "cat"/ { exit(0); }' \
	'cat /tmp/one/two/three'
run "what a function returns: its type is that of the prototype" \
	'fbt::vfs_read:return /execname == "dd" && args[1] > 0/ { printf("%d bytes\n", args[1]); exit(0); }' \
	'dd if=/dev/zero of=/dev/null bs=777 count=1'
run "a structure, member by member, with types" \
	'fbt::vfs_open:entry /execname == "cat"/ { print(*(struct path *)arg0); exit(0); }' 'cat /tmp/one/two/three'
run "a member of an anonymous structure in an anonymous union" \
	'fbt::vfs_open:entry /execname == "cat"/ { printf("%d characters\n", args[0]->dentry->d_name.len); print(args[0]->dentry->d_name.len); exit(0); }' 'cat /tmp/one/two/three'
run "bit-fields of a packet header" \
	'fbt::ip_rcv:entry { this->ip = (struct iphdr *)(args[0]->head + args[0]->network_header); printf("version %d, %d words, protocol %d, type %d, on %s\n", this->ip->version, this->ip->ihl, this->ip->protocol, args[0]->pkt_type, args[1]->name); exit(0); }' \
	'ping -c 1 -W 5 127.0.0.3'
run "an enumerator by its name, and printed by its name" \
	'fbt::inet_release:entry /execname == "ping"/ { printf("%d %d\n", args[0]->state == SS_UNCONNECTED, args[0]->state); print(args[0]->state); exit(0); }' \
	'ping -c 1 -W 5 127.0.0.1'
run "arrays: of structures, of characters, and their sizes" \
	'BEGIN { printf("%d bytes of stack at most, %d limits, name of %d bytes: %s\n", curthread->signal->rlim[3].rlim_cur, sizeof(curthread->signal->rlim) / sizeof(struct rlimit), sizeof(curthread->comm), curthread->comm); exit(0); }' true
run "a pointer to characters" \
	'BEGIN { printf("%s %s\n", stringof(curthread->nsproxy->uts_ns->name.sysname), stringof(curthread->fs->root.dentry->d_sb->s_type->name)); exit(0); }' true
run "arguments of many functions that have the same type" \
	'fbt::vfs_writ*:entry /execname == "dd"/ { @[probefunc, stringof(args[0]->f_path.dentry->d_name.name)] = count(); } fbt::do_group_exit:entry /execname == "dd"/ { exit(0); }' \
	'dd if=/dev/zero of=/tmp/one/sum bs=100 count=12'
run "descriptions whose arguments have different types" \
	'fbt::vfs_open:entry, fbt::vfs_write:entry /execname == "dd"/ { print(args[0]); } fbt::do_group_exit:entry /execname == "dd"/ { exit(0); }' \
	'dd if=/dev/zero of=/tmp/one/written bs=1 count=1'
file=$(find /lib/modules/$(uname -r)/ -name 'loop.ko*' | head -n 1)
case $file in *.xz) xzcat $file ;; *) cat $file ;; esac >/tmp/loop.ko
insmod /tmp/loop.ko 2>/dev/null
run "types, functions and variables of a module" \
	'fbt:loop:lo_ioctl:entry { printf("%s major %d command %x, lo_fops in %s, %d\n", stringof(args[0]->bd_disk->disk_name), args[0]->bd_disk->major, args[2], stringof(loop`lo_fops.owner->name), sizeof(struct loop`loop_device) > 100); exit(0); }' \
	'losetup /dev/loop3'
run "a translator of a library, by hand" \
	'fbt::tcp_connect:entry { printf("%s:%d %s\n", xlate <tcpsinfo_t *>(args[0])->tcps_raddr, xlate <tcpsinfo_t *>(args[0])->tcps_rport, tcp_state_string[xlate <tcpsinfo_t *>(args[0])->tcps_state]); exit(0); }' \
	'nc 127.0.0.1 9'
