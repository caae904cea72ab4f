/* test: type: out_t task_t */
translator out_t < struct task_struct *T > {
	pid = T->pid;
	name = stringof(T->comm);
	nested = xlate <struct other>(T->x).y;
	addr = (uint64_t)T;
};
translator struct other < task_t T > { };
