// SPDX-License-Identifier: GPL-2.0
/*
 * workload.c: a workload that exercises a little of everything in the kernel, and checks the results.
 *
 *   workload SECONDS [PART]...
 *       runs all parts (or the named ones) once, and again until the time is up; hotplug,
 *       which takes the last CPU offline and online again, only if it is named. Prints
 *       "rounds N", or the error: a displaced instruction that behaves differently can
 *       corrupt data silently.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static unsigned int seed = 1;
static const char *self;

#define CHECK(cond) do { if (!(cond)) wrong(__func__, __LINE__, #cond); } while (0)

static void wrong(const char *part, int line, const char *what)
{
	int err = errno;

	printf("%s: line %d: %s (%s)\n", part, line, what, strerror(err));
	fflush(stdout);
	_exit(1);
}

/* Fills memory with a pattern that identifies where and when it was written. */
static void pattern(unsigned char *to, size_t len, unsigned int salt)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (salt + i) * 167 >> 3;
}

static int intact(const unsigned char *at, size_t len, unsigned int salt)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (at[i] != (unsigned char)((salt + i) * 167 >> 3))
			return 0;
	return 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int ends(pid_t pid)
{
	int status = 0;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* ---- processes ---- */

static void processes(void)
{
	char *argv[] = { (char *)self, "exit", "23", NULL }, *envp[] = { "KINST=1", NULL };
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(17);
	status = ends(pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17);
	pid = vfork();
	if (!pid) {
		execve(self, argv, envp);
		_exit(99);
	}
	status = ends(pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	CHECK(!kill(pid, SIGKILL));
	status = ends(pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(execl("/nowhere/at/all", "x", NULL) == -1 && errno == ENOENT);
}

static void *add(void *arg)
{
	int i;

	for (i = 0; i < 1000; i++)
		__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
	return arg;
}

static void threads(void)
{
	pthread_t t[3];
	cpu_set_t all, one;
	int sum = 0, i;
	void *back;

	for (i = 0; i < 3; i++)
		CHECK(!pthread_create(&t[i], NULL, add, &sum));
	for (i = 0; i < 3; i++)
		CHECK(!pthread_join(t[i], &back) && back == &sum);
	CHECK(sum == 3000);
	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		CHECK(!sched_setaffinity(0, sizeof(one), &one));
		CHECK(sched_getcpu() == i);
		sched_yield();
	}
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	errno = 0;
	CHECK(nice(1) != -1 || !errno);
}

/* ---- files ---- */

static void files_in(const char *dir)
{
	unsigned char out[3 * PAGE + 77], in[sizeof(out)], *map;
	char a[128], b[128];
	unsigned int salt = seed++;
	struct stat st;
	int fd;

	snprintf(a, sizeof(a), "%s/sweep-%d-a", dir, getpid());
	snprintf(b, sizeof(b), "%s/sweep-%d-b", dir, getpid());
	pattern(out, sizeof(out), salt);
	fd = open(a, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	CHECK(fd >= 0);
	CHECK(write(fd, out, sizeof(out)) == sizeof(out));
	CHECK(pread(fd, in, 1000, PAGE - 500) == 1000 && !memcmp(in, out + PAGE - 500, 1000));
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, in, sizeof(in)) == sizeof(in) && !memcmp(in, out, sizeof(in)));
	map = mmap(NULL, sizeof(out), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED && intact(map, sizeof(out), salt));
	map[5] ^= 0xff;
	CHECK(!msync(map, sizeof(out), MS_SYNC) && pread(fd, in, 1, 5) == 1 && in[0] == (out[5] ^ 0xff));
	CHECK(!munmap(map, sizeof(out)));
	CHECK(!fsync(fd) && !ftruncate(fd, 100) && !fstat(fd, &st) && st.st_size == 100 && (st.st_mode & 0777) == 0640);
	CHECK(!fcntl(fd, F_SETFL, O_APPEND) && write(fd, "end", 3) == 3 && pread(fd, in, 10, 97) == 6);
	CHECK(!memcmp(in + 3, "end", 3));
	CHECK(!close(fd));
	CHECK(!rename(a, b) && stat(a, &st) && errno == ENOENT && !stat(b, &st) && st.st_size == 103);
	CHECK(!link(b, a) && !stat(a, &st) && st.st_nlink == 2 && !chmod(a, 0600) && !unlink(a) && !unlink(b));
	CHECK(!symlink("nowhere", a) && readlink(a, (char *)in, sizeof(in)) == 7 && !memcmp(in, "nowhere", 7) && !unlink(a));
	CHECK(!mkdir(a, 0700) && mkdir(a, 0700) && errno == EEXIST && !rmdir(a) && access(a, F_OK));
}

static void files(void)
{
	files_in("/tmp"); /* tmpfs */
	files_in("/root"); /* the initramfs */
}

/* Reads the same bytes from a disk with and without the page cache, and through a pipe. */
static void disk(void)
{
	static char path[300];
	unsigned char first[PAGE], again[PAGE];
	struct dirent *e;
	struct stat st;
	int fd, p[2], drop;
	DIR *d;

	if (!path[0]) {
		const char *dirs[] = { "/sysroot/boot", "/sysroot/usr/lib/debug/boot", "/sysroot", "/root" };
		size_t i;

		for (i = 0; i < sizeof(dirs) / sizeof(*dirs) && !path[0]; i++) {
			d = opendir(dirs[i]);
			while (d && (e = readdir(d)) && !path[0]) {
				snprintf(path, sizeof(path), "%s/%s", dirs[i], e->d_name);
				if (e->d_type != DT_REG || stat(path, &st) || st.st_size < PAGE)
					path[0] = '\0';
			}
			if (d)
				closedir(d);
		}
	}
	CHECK(path[0]);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, first, PAGE) == PAGE);
	CHECK(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	drop = open("/proc/sys/vm/drop_caches", O_WRONLY);
	CHECK(drop >= 0 && write(drop, "3", 1) == 1 && !close(drop));
	CHECK(pread(fd, again, PAGE, 0) == PAGE && !memcmp(first, again, PAGE));
	CHECK(!pipe(p) && splice(fd, &(loff_t){ 0 }, p[1], NULL, PAGE, 0) == PAGE);
	memset(again, 0, PAGE);
	CHECK(read(p[0], again, PAGE) == PAGE && !memcmp(first, again, PAGE));
	CHECK(!close(p[0]) && !close(p[1]) && !close(fd));
}

static void proc(void)
{
	const char *paths[] = { "/proc/self/maps", "/proc/self/status", "/proc/self/stat", "/proc/meminfo", "/proc/stat",
				"/proc/interrupts", "/proc/vmstat", "/proc/loadavg", "/proc/net/tcp", "/proc/mounts",
				"/proc/self/smaps_rollup", "/sys/kernel/mm/transparent_hugepage/enabled" };
	char buf[1024];
	size_t i;
	ssize_t n;
	int fd;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		fd = open(paths[i], O_RDONLY);
		if (fd < 0)
			continue;
		CHECK((n = read(fd, buf, sizeof(buf) - 1)) > 0);
		buf[n] = '\0';
		if (!i)
			CHECK(strstr(buf, "r-xp") || strstr(buf, "r--p"));
		close(fd);
	}
	fd = open("/proc/self/comm", O_RDWR);
	CHECK(fd >= 0 && write(fd, "busy", 4) == 4 && pread(fd, buf, 16, 0) == 5 && !memcmp(buf, "busy\n", 5));
	close(fd);
}

/* ---- between processes ---- */

static void pipes(void)
{
	unsigned char buf[20000];
	unsigned int salt = seed++;
	int p[2], status;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	CHECK(!pipe2(p, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		pattern(buf, sizeof(buf), salt);
		close(p[0]);
		_exit(write(p[1], buf, sizeof(buf)) != sizeof(buf));
	}
	close(p[1]);
	memset(buf, 0, sizeof(buf));
	while ((n = read(p[0], buf + got, sizeof(buf) - got)) > 0)
		got += n;
	CHECK(!n && got == sizeof(buf) && intact(buf, sizeof(buf), salt));
	status = ends(pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	close(p[0]);
	CHECK(!pipe(p) && !close(p[0]));
	signal(SIGPIPE, SIG_IGN);
	CHECK(write(p[1], "x", 1) == -1 && errno == EPIPE);
	close(p[1]);
}

static void exchange(int a, int b)
{
	unsigned char out[5000], in[5000];
	unsigned int salt = seed++;
	size_t got = 0;
	ssize_t n;

	pattern(out, sizeof(out), salt);
	CHECK(send(a, out, sizeof(out), 0) == sizeof(out));
	while (got < sizeof(in) && (n = recv(b, in + got, sizeof(in) - got, 0)) > 0)
		got += n;
	CHECK(got == sizeof(in) && intact(in, sizeof(in), salt));
}

static void tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), s, one = 1;
	struct pollfd p;
	char b;

	CHECK(l >= 0 && c >= 0 && !bind(l, (void *)&at, sizeof(at)) && !listen(l, 4) && !getsockname(l, (void *)&at, &len));
	CHECK(!connect(c, (void *)&at, sizeof(at)));
	s = accept(l, NULL, NULL);
	CHECK(s >= 0 && !setsockopt(s, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one)));
	exchange(c, s);
	exchange(s, c);
	p = (struct pollfd){ .fd = s, .events = POLLIN };
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(!shutdown(c, SHUT_WR) && poll(&p, 1, 10000) == 1 && recv(s, &b, 1, 0) == 0);
	close(s);
	close(c);
	close(l);
	c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(c, (void *)&at, sizeof(at)) == -1 && errno == ECONNREFUSED);
	close(c);
}

static void udp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned char out[1200], in[1500];
	struct timeval limit = { .tv_sec = 20 };

	pattern(out, sizeof(out), seed);
	CHECK(a >= 0 && b >= 0 && !bind(b, (void *)&at, sizeof(at)) && !getsockname(b, (void *)&at, &len));
	CHECK(!setsockopt(b, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	CHECK(sendto(a, out, sizeof(out), 0, (void *)&at, sizeof(at)) == sizeof(out));
	CHECK(recv(b, in, sizeof(in), 0) == sizeof(out) && intact(in, sizeof(out), seed));
	seed++;
	CHECK(recv(b, in, sizeof(in), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	close(a);
	close(b);
}

/* A descriptor sent through a socket is the same file on the other side. */
static void pass_descriptor(int a, int b)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } c = { 0 };
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	int e = eventfd(41, 0), got;
	uint64_t v;

	c.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.h), &e, sizeof(e));
	CHECK(e >= 0 && sendmsg(a, &m, 0) == 1);
	memset(&c, 0, sizeof(c));
	CHECK(recvmsg(b, &m, 0) == 1);
	memcpy(&got, CMSG_DATA(&c.h), sizeof(got));
	CHECK(got != e && read(got, &v, 8) == 8 && v == 41);
	close(got);
	close(e);
}

static void local(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = 7 }, out;
	int s[2], ep = epoll_create1(0);

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, s[1], &e) && epoll_wait(ep, &out, 1, 0) == 0);
	CHECK(send(s[0], "a", 1, 0) == 1 && epoll_wait(ep, &out, 1, 10000) == 1 && out.data.u32 == 7);
	CHECK(recv(s[1], &out, 1, 0) == 1 && *(char *)&out == 'a');
	exchange(s[0], s[1]);
	pass_descriptor(s[1], s[0]);
	close(s[0]);
	close(s[1]);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s));
	exchange(s[0], s[1]);
	close(s[0]);
	close(s[1]);
	close(ep);
}

static void shared(void)
{
	int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600), status;
	unsigned char *m = id < 0 ? NULL : shmat(id, NULL, 0);
	pid_t pid;

	CHECK(id >= 0 && m != (void *)-1);
	CHECK(!shmctl(id, IPC_RMID, NULL));
	pid = fork();
	if (!pid) {
		pattern(m, 2 * PAGE, 5);
		_exit(0);
	}
	status = ends(pid);
	CHECK(!status && intact(m, 2 * PAGE, 5) && !shmdt(m));
}

/* ---- signals and exceptions ---- */

static volatile sig_atomic_t caught, value;
static sigjmp_buf back;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)context;
	caught = sig;
	value = info->si_value.sival_int;
}

static void leap(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	caught = sig;
	siglongjmp(back, 1);
}

static void handle(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction a = { .sa_sigaction = f, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(sig, &a, NULL));
}

static void signals(void)
{
	sigset_t one, old, pending;

	handle(SIGUSR1, note);
	handle(SIGRTMIN, note);
	caught = 0;
	CHECK(!kill(getpid(), SIGUSR1) && caught == SIGUSR1);
	CHECK(!sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 4711 }) && caught == SIGRTMIN && value == 4711);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	caught = 0;
	CHECK(!sigprocmask(SIG_BLOCK, &one, &old) && !raise(SIGUSR1) && !caught);
	CHECK(!sigpending(&pending) && sigismember(&pending, SIGUSR1));
	CHECK(sigsuspend(&old) == -1 && errno == EINTR && caught == SIGUSR1);
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
}

#ifdef __x86_64__
#define UNDEFINED "ud2"
#define BREAKPOINT "int3"

static void divide(void)
{
	volatile int zero = 0, some = 7;

	handle(SIGFPE, leap);
	if (!sigsetjmp(back, 1))
		zero = some / zero;
	CHECK(caught == SIGFPE);
}
#else
#define UNDEFINED "udf #0"
#define BREAKPOINT "brk #0"

/* Without an exception. */
static void divide(void)
{
}
#endif

static void exceptions(void)
{
	volatile int *volatile wild = (int *)16;

	handle(SIGILL, leap);
	handle(SIGTRAP, leap);
	handle(SIGSEGV, leap);
	divide();
	if (!sigsetjmp(back, 1))
		__asm__ volatile(UNDEFINED);
	CHECK(caught == SIGILL);
	if (!sigsetjmp(back, 1))
		__asm__ volatile(BREAKPOINT);
	CHECK(caught == SIGTRAP);
	if (!sigsetjmp(back, 1))
		*wild = 1;
	CHECK(caught == SIGSEGV);
	wild = (int *)0x8000000000000000;
	caught = 0;
	if (!sigsetjmp(back, 1))
		*wild = 1;
	CHECK(caught == SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
}

static void tracing(void)
{
	int status, steps;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		_exit(9);
	}
	status = ends(pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	for (steps = 0; steps < 8; steps++) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		status = ends(pid);
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	}
	CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
	status = ends(pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

/* ---- memory ---- */

static void memory(void)
{
	size_t len = 24 * PAGE;
	unsigned char *m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *moved;
	int status;
	pid_t pid;

	CHECK(m != MAP_FAILED && !m[0] && !m[len - 1]);
	pattern(m, len, 11);
	pid = fork();
	if (!pid) {
		if (!intact(m, len, 11))
			_exit(1);
		pattern(m, len, 12);
		_exit(intact(m, len, 12) ? 0 : 2);
	}
	status = ends(pid);
	CHECK(!status && intact(m, len, 11));
	CHECK(!mprotect(m, PAGE, PROT_READ));
	handle(SIGSEGV, leap);
	caught = 0;
	if (!sigsetjmp(back, 1))
		*(volatile unsigned char *)m = 1;
	CHECK(caught == SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
	CHECK(!mprotect(m, PAGE, PROT_READ | PROT_WRITE));
	moved = mremap(m, len, 2 * len, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && intact(moved, len, 11) && !moved[2 * len - 1]);
	CHECK(!madvise(moved, PAGE, MADV_DONTNEED) && !moved[0] && intact(moved + PAGE, len - PAGE, 11 + PAGE));
	CHECK(!mlock(moved, PAGE) && !munlock(moved, PAGE) && !munmap(moved, 2 * len));
}

/* Copies that end at a hole, copies from unmapped addresses, and one that faults a page in. */
static void copies(void)
{
	char *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), buf[3000];
	struct iovec to = { m + 50, 3000 }, from = { buf, 3000 };
	char *volatile wild = (char *)8;
	int p[2];

	CHECK(m != MAP_FAILED && !munmap(m + PAGE, PAGE) && !pipe2(p, O_NONBLOCK));
	memset(buf, 'k', sizeof(buf));
	CHECK(write(p[1], buf, 3000) == 3000 && read(p[0], m + 100, 3000) == 3000);
	CHECK(m[99] == 0 && m[100] == 'k' && m[3099] == 'k' && m[3100] == 0);
	CHECK(write(p[1], m + PAGE - 10, 100) <= 10 || errno == EFAULT);
	CHECK(write(p[1], wild, 100) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_uname, (char *)16) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_uname, (char *)0x8000000000000000) == -1 && errno == EFAULT);
	CHECK(open((char *)wild, O_RDONLY) == -1 && errno == EFAULT);
	CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 3000 && m[50] == 'k' && m[3049] == 'k' && !m[49]);
	close(p[0]);
	close(p[1]);
	munmap(m, PAGE);
}

/* ---- time ---- */

static void timers(void)
{
	struct itimerval soon = { .it_value.tv_usec = 2000 };
	struct itimerspec in = { .it_value.tv_nsec = 2000000 };
	struct timespec nap = { .tv_nsec = 1000000 }, t[2];
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 12 };
	sigset_t none, both, old;
	timer_t timer;
	uint64_t n;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	CHECK(fd >= 0 && !timerfd_settime(fd, 0, &in, NULL) && read(fd, &n, 8) == 8 && n == 1 && !close(fd));
	CHECK(!clock_gettime(CLOCK_MONOTONIC, &t[0]) && !nanosleep(&nap, NULL) && !clock_gettime(CLOCK_MONOTONIC, &t[1]));
	CHECK((t[1].tv_sec - t[0].tv_sec) * 1000000000ll + t[1].tv_nsec - t[0].tv_nsec >= nap.tv_nsec);
	handle(SIGALRM, note);
	handle(SIGRTMIN, note);
	sigemptyset(&none);
	sigemptyset(&both);
	sigaddset(&both, SIGALRM);
	sigaddset(&both, SIGRTMIN);
	CHECK(!sigprocmask(SIG_BLOCK, &both, &old));
	caught = 0;
	CHECK(!setitimer(ITIMER_REAL, &soon, NULL) && sigsuspend(&none) == -1 && caught == SIGALRM);
	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &timer) && !timer_settime(timer, 0, &in, NULL));
	CHECK(sigsuspend(&none) == -1 && caught == SIGRTMIN && value == 12 && !timer_delete(timer));
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
}

/* ---- processors ---- */

static void set_cpu(const char *state)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/online", sysconf(_SC_NPROCESSORS_CONF) - 1);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && write(fd, state, 1) == 1 && !close(fd));
}

static void hotplug(void)
{
	long all = sysconf(_SC_NPROCESSORS_ONLN);

	set_cpu("0");
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) == all - 1);
	set_cpu("1");
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) == all);
	threads();
}

/* ---- all parts ---- */

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "processes", processes }, { "threads", threads }, { "files", files }, { "disk", disk }, { "proc", proc },
	{ "pipes", pipes }, { "tcp", tcp }, { "udp", udp }, { "local", local }, { "shared", shared },
	{ "signals", signals }, { "exceptions", exceptions }, { "tracing", tracing }, { "memory", memory },
	{ "copies", copies }, { "timers", timers }, { "hotplug", hotplug },
};

static int wanted(const char *name, char **names)
{
	if (!*names)
		return strcmp(name, "hotplug") != 0;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	double end = now();
	int rounds = 0;
	size_t i;

	if (argc == 3 && !strcmp(argv[1], "exit"))
		return getenv("KINST") ? atoi(argv[2]) : 98;
	if (argc < 2)
		return 2;
	self = "/proc/self/exe";
	end += atof(argv[1]);
	do {
		for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (wanted(parts[i].name, argv + 2))
				parts[i].run();
		rounds++;
	} while (now() < end);
	printf("rounds %d\n", rounds);
	return 0;
}
