/* psinfo_t and lwpsinfo_t: a process and a thread are each a task. */

#pragma D depends_on module vmlinux
#pragma D depends_on library procflags.d

typedef struct psinfo {
	int pr_nlwp;
	pid_t pr_pid;
	pid_t pr_ppid;
	pid_t pr_pgid;
	pid_t pr_sid;
	uid_t pr_uid;
	uid_t pr_euid;
	gid_t pr_gid;
	gid_t pr_egid;
	uintptr_t pr_addr;
	uint64_t pr_start;
	string pr_fname;
	char pr_psargs[80];
	uint_t pr_arglen;
	int pr_jailid;
	int pr_projid;
	int pr_taskid;
	int pr_poolid;
	int pr_zoneid;
	int pr_contract;
	int pr_wstat;
	uint32_t pr_ttydev;
	uintptr_t pr_argv;
	uint64_t pr_size;
	char pr_dmodel;
	/* No translation: a task does not store this value. */
	int pr_flag;
	int pr_nzomb;
	uint64_t pr_rssize;
	ushort_t pr_pctcpu;
	ushort_t pr_pctmem;
	uint64_t pr_time;
	uint64_t pr_ctime;
	int pr_argc;
	uintptr_t pr_envp;
} psinfo_t;

translator psinfo_t < struct task_struct *T > {
	pr_nlwp = T->signal->nr_threads;
	pr_pid = T->tgid;
	pr_ppid = T->real_parent->tgid;
	pr_pgid = T->signal->pids[2]->numbers[0].nr;
	pr_sid = T->signal->pids[3]->numbers[0].nr;
	pr_uid = T->cred->uid.val;
	pr_euid = T->cred->euid.val;
	pr_gid = T->cred->gid.val;
	pr_egid = T->cred->egid.val;
	pr_addr = (uintptr_t)T;
	pr_start = T->start_time;
	pr_fname = stringof(T->group_leader->comm);
	pr_psargs = T == curthread ? execargs : stringof(T->group_leader->comm);
	pr_arglen = strlen(T == curthread ? execargs : stringof(T->group_leader->comm));
	pr_jailid = 0;
	pr_projid = 0;
	pr_taskid = 0;
	pr_poolid = 0;
	pr_zoneid = 0;
	pr_contract = 0;
	pr_wstat = T->exit_code;
	pr_ttydev = T->signal->tty == NULL ? (uint32_t)-1 :
	    (T->signal->tty->driver->major << 20) + T->signal->tty->driver->minor_start + T->signal->tty->index;
	pr_argv = T->mm == NULL ? 0 : T->mm->start_stack + 8;
	pr_size = T->mm == NULL ? 0 : T->mm->total_vm * 4;
	pr_dmodel = 2;
};

typedef struct lwpsinfo {
	int pr_flag;
	id_t pr_lwpid;
	uintptr_t pr_addr;
	uintptr_t pr_wchan;
	char pr_stype;
	char pr_state;
	char pr_sname;
	int pr_nice;
	short pr_syscall;
	int pr_pri;
	string pr_clname;
	int pr_onpro;
	int pr_bindpro;
	int pr_bindpset;
	char pr_name[16];
	/* No translation. */
	int pr_oldpri;
	char pr_cpu;
	ushort_t pr_pctcpu;
	uint64_t pr_start;
	uint64_t pr_time;
} lwpsinfo_t;

translator lwpsinfo_t < struct task_struct *T > {
	pr_flag = (T->__state & 3 ? PR_ASLEEP : T->__state & 12 ? PR_STOPPED : 0) |
	    (T->flags & 0x00200000 ? PR_ISSYS : 0);
	pr_lwpid = T->pid;
	pr_addr = (uintptr_t)T;
	pr_wchan = 0;
	pr_stype = 0;
	pr_state = T->on_cpu ? SONPROC : T->exit_state ? SZOMB : T->__state & 3 ? SSLEEP : T->__state & 12 ? SSTOP : SRUN;
	pr_sname = T->on_cpu ? 'O' : T->exit_state ? 'Z' : T->__state & 3 ? 'S' : T->__state & 12 ? 'T' : 'R';
	pr_nice = T->static_prio - 120;
	pr_syscall = T == curthread && T->mm != NULL ? (int)uregs[R_SYSCALL] : 0;
	pr_pri = T->prio;
	pr_clname = T->policy == 1 || T->policy == 2 ? "RT" : T->policy == 6 ? "DL" : "TS";
	pr_onpro = T->thread_info.cpu;
	pr_bindpro = T->nr_cpus_allowed == 1 ? T->thread_info.cpu : -1;
	pr_bindpset = -1;
	pr_name = stringof(T->comm);
};

#pragma D attributes Stable/Stable/Common curpsinfo
inline psinfo_t *curpsinfo = xlate <psinfo_t *> (curthread);
#pragma D attributes Stable/Stable/Common curlwpsinfo
inline lwpsinfo_t *curlwpsinfo = xlate <lwpsinfo_t *> (curthread);
