/* with: -w -c 'dd if=/proc/cpuinfo of=/tmp/copied bs=64k' */
#pragma D option quiet
#pragma D option aggsortkey
fbt::c_start:entry
/pid == $target && !starts++/
{
	this->m = &((struct seq_file *)arg0)->lock;
	printf("mutex %d %d %d %d\n", mutex_owned(this->m), mutex_owner(this->m) == curthread, mutex_type_adaptive(this->m), mutex_type_spin(this->m));
}
fbt::c_stop:entry /pid == $target && !stops++/ { printf("mutex at %s %d\n", probefunc, mutex_owned(&((struct seq_file *)arg0)->lock)); }
fbt::do_mmap:entry
/pid == $target && !maps++/
{
	this->l = &curthread->mm->mmap_lock;
	printf("rwsem %d %d %d\n", rw_read_held(this->l), rw_write_held(this->l), rw_iswriter(this->l));
}
fbt::vfs_read:entry
/pid == $target && !reads++/
{
	/* A reader of /proc/PID/maps holds it for reading. */
	this->l = &curthread->mm->mmap_lock;
	printf("rwsem %d %d\n", rw_write_held(this->l), rw_iswriter(this->l));
}
fbt::handle_mm_fault:entry
/pid == $target && !faults++/
{
	this->l = &((struct vm_area_struct *)arg0)->vm_mm->mmap_lock;
	printf("rwsem %d %d %d\n", rw_read_held(this->l), rw_write_held(this->l), rw_iswriter(this->l));
}
fbt::vfs_open:entry /pid == $target/ { printf("%s\n", d_path((struct path *)arg0)); }
fbt::vfs_read:entry /pid == $target/ { this->f = (struct file *)arg0; @[d_path(&this->f->f_path)] = count(); }
fbt::vfs_read:entry /pid == $target && !bad++/ { trace(mutex_owned((struct mutex *)8)); }
fbt::vfs_read:entry /pid == $target && bad == 1/ { bad++; trace(d_path((struct path *)8)); }
syscall::read:entry /pid == $target && !registers++/ { printf("%d %d %d %s %s\n", uregs[R_RDI] == arg0, uregs[R_RSI] == arg1, uregs[R_RDX], zonename, probefunc); }
syscall::write:entry /pid == $target && !outs++/ { copyoutstr("changed", arg1, 8); copyout("by dtrace", arg1 + 7, 9); }
sdt:::softirq_entry,sdt:::hrtimer_expire_entry,sdt:::sched_process_exit,syscall::read:entry { @level[probename, ipl] = count(); }
sdt:::softirq_entry { self->in = 1; }
sdt:::hrtimer_expire_entry { self->timer = 1; }
syscall::read:entry /self->in || self->timer/ { printf("an interrupt's variable\n"); }
END { printa("%s %d\n", @level); printa("%s %@d\n", @); }
