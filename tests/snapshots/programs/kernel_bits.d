/* test: kernel */
BEGIN
{
	trace(curthread->sched_contributes_to_load);
	trace(curthread->delta);
	trace(curthread->policy);
	trace(curthread->wide);
	trace(curthread->kind == PIDTYPE_TGID);
	trace(((struct packed_bits *)arg0)->across);
	trace(((struct packed_bits *)arg0)->behind);
}
