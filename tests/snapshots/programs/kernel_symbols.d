/* test: kernel */
BEGIN
{
	trace(`jiffies);
	trace(vmlinux`init_task.comm);
	trace(`per_thing[2]);
	trace(stringof(`linux_banner));
	trace(`endless);
	trace(sizeof (`endless));
	trace((uintptr_t)&`vfs_read);
	trace(sizeof (`untyped));
	trace(sizeof (struct task_struct));
	trace(offsetof(struct task_struct, other));
	trace(&`init_task.comm[3]);
}
