/* The arguments of sched's probes. */

#pragma D depends_on module vmlinux
#pragma D depends_on library sched.d
#pragma D depends_on library procfs.d

provider sched {
	probe enqueue(struct task_struct *t, int c) : (lwpsinfo_t *t, psinfo_t *t, cpuinfo_t *c);
	probe dequeue(struct task_struct *t, int c) : (lwpsinfo_t *t, psinfo_t *t, cpuinfo_t *c);
	probe off__cpu(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe on__cpu(void);
	probe preempt(void);
	probe remain__cpu(void);
	probe sleep(void);
	probe wakeup(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe tick(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe change__pri(struct task_struct *t, int p) : (lwpsinfo_t *t, psinfo_t *t, int p);
	probe cpucaps__sleep(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe cpucaps__wakeup(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe schedctl__nopreempt(struct task_struct *t, int p) : (lwpsinfo_t *t, psinfo_t *t, int p);
	probe schedctl__preempt(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
	probe schedctl__yield(int v);
	probe surrender(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t);
};

#pragma D attributes Evolving/Evolving/ISA provider sched provider
#pragma D attributes Private/Private/Unknown provider sched module
#pragma D attributes Private/Private/Unknown provider sched function
#pragma D attributes Evolving/Evolving/ISA provider sched name
#pragma D attributes Evolving/Evolving/ISA provider sched args
