/* Places of the sysinfo probes on Linux; arg0 is the statistic's increment. A bare string names the nearest one. */

#pragma D depends_on module vmlinux

provider sysinfo {
	probe pswitch(uint64_t n) = "sdt:::sched_switch" (1);
	/* The thread was preempted, or could have continued. */
	probe inv_swtch(uint64_t n) = "sdt:::sched_switch" if (args[0] || args[3] == 0) (1);
	probe idlethread(uint64_t n) = "sdt:::sched_switch" if (args[2]->pid == 0) (1);
	probe cpumigrate(uint64_t n) = "sdt:::sched_migrate_task" (1);
	/* One for each send, regardless of the number of target CPUs. */
	probe xcalls(uint64_t n) = "fbt::native_send_call_func_single_ipi:entry",
	    "fbt::native_send_call_func_ipi:entry" (1);

	probe sysread(uint64_t n) = "syscall::read:return", "syscall::pread64:return",
	    "syscall::readv:return", "syscall::preadv:return", "syscall::preadv2:return" (1);
	probe syswrite(uint64_t n) = "syscall::write:return", "syscall::pwrite64:return",
	    "syscall::writev:return", "syscall::pwritev:return", "syscall::pwritev2:return" (1);
	probe readch(uint64_t n) = "syscall::read:return", "syscall::pread64:return",
	    "syscall::readv:return", "syscall::preadv:return",
	    "syscall::preadv2:return" if (arg0 > 0) (arg0);
	probe writech(uint64_t n) = "syscall::write:return", "syscall::pwrite64:return",
	    "syscall::writev:return", "syscall::pwritev:return",
	    "syscall::pwritev2:return" if (arg0 > 0) (arg0);

	/* CLONE_VM is 0x100: a thread, or a process that borrows the memory; CLONE_VFORK is 0x4000. */
	probe sysfork(uint64_t n) = "fbt::kernel_clone:entry" if (!(args[0]->flags & 0x100)) (1);
	probe sysvfork(uint64_t n) = "fbt::kernel_clone:entry" if (args[0]->flags & 0x4000) (1);
	probe sysexec(uint64_t n) = "syscall::execve:entry", "syscall::execveat:entry" (1);
	probe nthreads(uint64_t n) = "proc:::lwp-create" (1);
	probe msg(uint64_t n) = "syscall::msgsnd:entry", "syscall::msgrcv:entry" (1);
	probe sema(uint64_t n) = "syscall::semop:entry", "syscall::semtimedop:entry" (1);
	probe modload(uint64_t n) = "sdt:::module_load" (1);
	probe modunload(uint64_t n) = "sdt:::module_free" (1);

	/* LCB_F_SPIN is 1, LCB_F_READ 2, LCB_F_WRITE 4, LCB_F_MUTEX 32; a mutex spins first. */
	probe mutex_adenters(uint64_t n) = "sdt:::contention_begin" if ((args[1] & 33) == 33) (1);
	probe rw_rdfails(uint64_t n) = "sdt:::contention_begin" if (args[1] & 2) (1);
	probe rw_wrfails(uint64_t n) = "sdt:::contention_begin" if (args[1] & 4) (1);

	probe bawrite(uint64_t n) = "io:::start, with B_WRITE in args[0]->b_flags";
	probe bread(uint64_t n) = "io:::start, with B_READ in args[0]->b_flags";
	probe bwrite(uint64_t n) = "io:::start, with B_WRITE in args[0]->b_flags";
	probe lread(uint64_t n) = "fbt::vfs_read:entry";
	probe lwrite(uint64_t n) = "fbt::vfs_write:entry";
	probe phread(uint64_t n) = "io:::start, with B_READ in args[0]->b_flags";
	probe phwrite(uint64_t n) = "io:::start, with B_WRITE in args[0]->b_flags";
	probe namei(uint64_t n) =
	    "fbt::path_init:entry; a lookup that has to begin again counts again";
	probe trap(uint64_t n) =
	    "sdt:::page_fault_user, for page faults; other exceptions are functions: fbt::exc_*:entry";
	probe intrblk(uint64_t n) = "sdt:::irq_handler_entry";
	probe procovf(uint64_t n) = "syscall::clone:return /errno == EAGAIN/";
	probe canch(uint64_t n) = "fbt::tty_read:entry";
	probe rawch(uint64_t n) = "fbt::tty_read:entry";
	probe outch(uint64_t n) = "fbt::tty_write:entry";
	probe mdmint(uint64_t n) = "sdt:::irq_handler_entry";
	probe rcvint(uint64_t n) = "sdt:::irq_handler_entry";
	probe xmtint(uint64_t n) = "sdt:::irq_handler_entry";
	probe cpu_ticks_idle(uint64_t n) = "profile-97 /pid == 0/";
	probe cpu_ticks_kernel(uint64_t n) = "profile-97 /arg0 != 0/";
	probe cpu_ticks_user(uint64_t n) = "profile-97 /arg1 != 0/";
	probe cpu_ticks_wait(uint64_t n) = "io:::start and io:::done, with the time between";
	probe wait_ticks_io(uint64_t n) = "io:::start and io:::done, with the time between";
	probe ufsdirblk(uint64_t n) = "fbt::ext4_readdir:entry, or its counterpart in another file system";
	probe ufsiget(uint64_t n) = "fbt::iget_locked:entry";
	probe ufsinopage(uint64_t n) = "fbt::evict:entry";
	probe ufsipage(uint64_t n) = "fbt::evict:entry";
};
