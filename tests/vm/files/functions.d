/* Each function of the library, for the kernel to verify; nothing here is executed. */
#pragma D option quiet

BEGIN /pid == 0/
{
	this->m = (char *)alloca(64);
	this->m[0] = 1;
	*(short *)(this->m + 2) = 2;
	*(int *)(this->m + 4) = 3;
	*(long *)(this->m + 8) = 4;
	bcopy(this->m, this->m + 16, 8);
	trace(memstr(this->m, 46, 4));
	printm(8, memref(this->m, 8));
	copyinto(arg0, 8, this->m);
	trace(copyinstr(arg0));
	trace(copyinstr(arg0, 9));
	tracemem(copyin(arg0, 8), 8);
}

BEGIN /pid == 0/
{
	printf("%s %s %s %s", toupper(execname), tolower(execname), strchr(execname, 'a'), strrchr(execname, 'a'));
	printf("%d %d %s %s", index(execname, "a"), rindex(execname, "a", 3), substr(execname, 1, 2), strstr(execname, "b"));
	printf("%s %s %s %s", basename(execname), dirname(execname), cleanpath(execname), strjoin(execname, probefunc));
	printf("%d %s %d %s", execname < probefunc, lltostr(uid, 7), strtoll(execname, 3), strtok(execname, ","));
	printf("%s", json(execname, probefunc));
}

BEGIN /pid == 0/
{
	printf("%s %s", inet_ntoa((ipaddr_t *)alloca(4)), inet_ntoa6((in6_addr_t *)alloca(16)));
	printf("%s", link_ntop(1, (char *)alloca(6)));
	printf("%d %d %d", htons(uid), getmajor(uid), rand());
	printf("%d %d %d %s", ppid, progenyof(1), speculation(), curpsinfo->pr_psargs);
}
