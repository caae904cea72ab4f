// SPDX-License-Identifier: GPL-2.0
/*
 * rights.c: tests of the privileges that /dev/dtrace/kinst requires, in the guest.
 *
 *   rights            the mode, the capability, setuid, a file that is passed on, a mapping that is not inherited
 *   rights lockdown   a session under lockdown=integrity and then =confidentiality, which cannot be undone
 *   rights work       images that would make the kernel do unbounded work
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "places.h"

#define NOBODY 65534

static void empty_image(struct ib *b)
{
	ib_init(b);
	ib_act(b, KINST_ACT_DIFEXPR, ib_const(b, 1, 8), 0);
	ib_ecb(b, ib_probe(b, KINST_P_BEGIN, "BEGIN"), ib_clause(b, KINST_NONE, 0));
}

/* Runs f in a child, which can drop privileges. */
static int in_child(int (*f)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(f(arg) ? (printf("# %s\n", why), fflush(stdout), 1) : 0);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}

/* Every call and a mapping, with the given file: all refused. */
static int all_refused(int fd)
{
	static const unsigned long cmds[] = { KINST_IOC_INFO, KINST_IOC_INSNS, KINST_IOC_LOAD, KINST_IOC_GO, KINST_IOC_STOP,
					      KINST_IOC_STATUS, KINST_IOC_AGGSNAP, KINST_IOC_SYSCALLS, 0x1234 };
	static char buf[4096];
	unsigned int i;

	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++)
		CHECK(ioctl(fd, cmds[i], buf) == -1 && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM);
	return 0;
}

static int after_setuid(void *arg)
{
	struct session *s = arg;

	CHECK(!setgid(NOBODY) && !setuid(NOBODY));
	CHECK(open(KINST_DEVICE, O_RDWR) == -1 && errno == EACCES);
	return all_refused(s->fd);
}

/* Root, but without CAP_SYS_ADMIN. */
static int without_capability(void *arg)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	struct session *s = arg;

	CHECK(!syscall(SYS_capget, &h, d));
	d[0].effective &= ~(1u << CAP_SYS_ADMIN);
	CHECK(!syscall(SYS_capset, &h, d));
	CHECK(open(KINST_DEVICE, O_RDWR) == -1 && errno == EPERM);
	return all_refused(s->fd);
}

static int test_mode(void)
{
	struct stat st;

	CHECK(!stat(KINST_DEVICE, &st));
	CHECK(S_ISCHR(st.st_mode) && (st.st_mode & 0777) == 0600 && !st.st_uid && !st.st_gid);
	return 0;
}

static int test_setuid(void)
{
	struct session s;
	struct ib b;

	empty_image(&b);
	CHECK(!open_image(&s, &b));
	if (in_child(after_setuid, &s) || in_child(without_capability, &s))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO)); /* a privileged process can continue */
	close_session(&s);
	return 0;
}

/* Receives the file in a process that never was privileged. */
static int receive(void *arg)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fd;

	CHECK(!setgid(NOBODY) && !setuid(NOBODY));
	CHECK(recvmsg(*(int *)arg, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return all_refused(fd);
}

static int test_passed_on(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	struct session s;
	int sv[2], status;
	struct ib b;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid)
		_exit(receive(&sv[1]) ? (printf("# %s\n", why), fflush(stdout), 1) : 0);
	empty_image(&b);
	CHECK(!open_image(&s, &b));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &s.fd, sizeof(int));
	CHECK(sendmsg(sv[0], &m, 0) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	close_session(&s);
	return 0;
}

/* A child does not have the parent's rings. */
static int touches(void *arg)
{
	unsigned char vec;

	CHECK(mincore(((struct session *)arg)->cons[0], 4096, &vec) == -1 && errno == ENOMEM);
	return 0;
}

static int test_mapping(void)
{
	struct session s;
	struct ib b;

	empty_image(&b);
	CHECK(!open_image(&s, &b));
	if (in_child(touches, &s))
		return -1;
	CHECK(mprotect((void *)s.data[0], 4096, PROT_READ | PROT_WRITE) && errno == EACCES);
	CHECK(mprotect((void *)s.prod[0], 4096, PROT_READ | PROT_EXEC) && errno == EACCES);
	CHECK(mremap((void *)s.prod[0], 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
	close_session(&s);
	return 0;
}

/* ---- lockdown ---- */

static int lock_down(const char *how)
{
	int fd = open("/sys/kernel/security/lockdown", O_WRONLY);

	CHECK(fd >= 0 && write(fd, how, strlen(how)) == (ssize_t)strlen(how));
	close(fd);
	return 0;
}

static int load_with(uint32_t flags)
{
	struct session s;
	struct ib b;
	int err;

	empty_image(&b);
	b.h.flags = flags;
	err = open_image(&s, &b) ? errno : 0;
	close(s.fd);
	return err;
}

static int test_lockdown(void)
{
	struct session s, idle;
	struct kinst_status st;
	struct ib b;
	int late = open(KINST_DEVICE, O_RDWR);

	empty_image(&b);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	empty_image(&b);
	CHECK(!open_image(&idle, &b));
	CHECK(!load_with(KINST_IMAGE_DESTRUCTIVE));
	CHECK(!lock_down("integrity"));
	CHECK(!load_with(0));
	CHECK(load_with(KINST_IMAGE_DESTRUCTIVE) == EACCES);
	CHECK(!lock_down("confidentiality"));
	CHECK(open(KINST_DEVICE, O_RDWR) == -1 && errno == EPERM);
	CHECK(late >= 0 && ioctl(late, KINST_IOC_INFO, &st) && errno == EPERM);
	CHECK(ioctl(idle.fd, KINST_IOC_GO) && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, s.fd, 4096) == MAP_FAILED && errno == EPERM);
	/* A session that ran before can be stopped. */
	CHECK(!ioctl(s.fd, KINST_IOC_STATUS, &st) && st.state == KINST_STATE_ACTIVE);
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	return 0;
}

/* ---- work ---- */

/* DIFOs that share their instructions: the tables are short, but verifying them takes the product of their lengths. */
static int test_shared(void)
{
	static uint32_t w[65536];
	struct timespec t0, t1;
	struct kinst_difo d;
	struct session s;
	uint32_t i;
	struct ib b;

	for (i = 0; i < 65535; i++)
		w[i] = I_W(36, 0, 0); /* nop */
	w[65535] = I_RET(0);
	empty_image(&b);
	i = ib_difo(&b, w, 65536, NULL, 0, NULL, 0, T_VOID);
	d = ((struct kinst_difo *)b.t[IB_DIFOS].mem)[i];
	for (i = 0; i < 100000; i++)
		ib_add(&b, IB_DIFOS, &d, 1);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	CHECK(open_image(&s, &b) && s.error.code == KINST_V_LIMIT);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	CHECK(t1.tv_sec - t0.tv_sec < 10);
	close(s.fd);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct test rights[] = {
		{ "mode", test_mode }, { "setuid and capability", test_setuid }, { "passed on", test_passed_on },
		{ "mapping", test_mapping },
	};
	static const struct test lockdown[] = { { "lockdown", test_lockdown } };
	static const struct test work[] = { { "shared instructions", test_shared } };

	if (argc > 1)
		return !strcmp(argv[1], "lockdown") ? run_tests(lockdown, 1) : run_tests(work, 1);
	return run_tests(rights, sizeof(rights) / sizeof(rights[0]));
}
