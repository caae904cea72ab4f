/* The arguments of proc's probes. */

#pragma D depends_on module vmlinux
#pragma D depends_on library procfs.d

provider proc {
	probe create(struct task_struct *t) : (psinfo_t *t);
	probe exec(string path);
	probe exec__failure(int e);
	probe exec__success(void);
	probe exit(int why);
	probe fault(int f, struct kernel_siginfo *i) : (int f, struct kernel_siginfo *i);
	probe lwp__create(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe lwp__exit(void);
	probe lwp__start(void);
	probe signal__clear(int s);
	probe signal__discard(struct task_struct *t, struct task_struct *p, int s) :
	    (lwpsinfo_t *t, psinfo_t *p, int s);
	probe signal__handle(int s, void *info, void *handler);
	probe signal__send(struct task_struct *t, struct task_struct *p, int s) :
	    (lwpsinfo_t *t, psinfo_t *p, int s);
	probe start(void);
};

#pragma D attributes Evolving/Evolving/ISA provider proc provider
#pragma D attributes Private/Private/Unknown provider proc module
#pragma D attributes Private/Private/Unknown provider proc function
#pragma D attributes Evolving/Evolving/ISA provider proc name
#pragma D attributes Evolving/Evolving/ISA provider proc args
