/* test: type: lwpsinfo_t */
provider sched {
	probe on__cpu();
	probe enqueue(struct task_struct *t, int cpu) : (lwpsinfo_t *t, int cpu);
	probe tick(int, ...) : ();
};
BEGIN { }
