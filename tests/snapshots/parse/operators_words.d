/* test: type: foo_t */
BEGIN
{
	sizeof x; sizeof (x); sizeof(int); sizeof (struct file *); sizeof (foo_t); sizeof -x; sizeof x + 1;
	stringof(arg0); stringof arg0; stringof arg0 + 1; (stringof arg0)[1];
	offsetof(struct file, f_path); offsetof(foo_t, string); offsetof(foo_t, self);
	xlate <foo_t>(arg0).x; xlate <struct psinfo *>(arg0)->pr_pid;
}
