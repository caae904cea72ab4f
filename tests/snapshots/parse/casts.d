/* test: type: foo_t uint64_t */
BEGIN
{
	(int)x; (char)-x; -(char)x; (int)(x + 1); (int)x + 1; (unsigned long long)x; (struct file *)arg0; ((struct file *)arg0)->f_path;
	(foo_t *)arg0; (const char *)p; (void *)0; (char * const *)x; (int (*)[4])x; (char *[4])x; (string)x;
	(foo_t)(uint64_t)x; (f)(x); (x); *(int *)p; (int (*)(int, foo_t *))p; (enum e)x; (union u **)x;
}
