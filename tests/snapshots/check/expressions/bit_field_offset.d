/* test: kernel */
BEGIN { trace(offsetof(struct task_struct, delta)); }
