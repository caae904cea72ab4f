/* test: kernel */
BEGIN
{
	trace(curthread->comm);
	trace(curthread->parent->tgid);
	trace(curthread->half);
	trace(curthread->tasks[1].prev);
	trace(curthread->flag);
	trace(curthread->exit_state == STATE_DEAD);
	trace(stringof(((struct file *)arg0)->f_path.dentry->d_name.name));
	trace((fmode_t)arg0);
	printf("%s %d", curthread->comm, curthread->pid);
}
