/*
 * rare.c: system calls that nothing else makes in an idle guest, some failing. For `cargo xtask executed`.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Results are ignored: some calls are meant to fail. */
static volatile long sink;
#define DO(call) (sink = (long)(call))

static void queues(int n)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	mqd_t q = mq_open("/rare", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attr);
	char text[64] = "text";
	int id = msgget(IPC_PRIVATE, 0600);
	struct { long type; char text[32]; } message = { 1 + n % 3, "text" };

	for (int i = 0; i < 6; i++)
		DO(mq_send(q, text, 16 + i * 10, i % 3));
	for (int i = 0; i < 5; i++)
		DO(mq_receive(q, text, i == 2 ? 8 : 64, NULL));
	DO(mq_getattr(q, &attr));
	DO(mq_close(q));
	DO(mq_unlink("/rare"));
	DO(msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT));
	DO(msgsnd(id, &message, n % 2 ? 9 : (size_t)-1, IPC_NOWAIT));
	DO(msgrcv(id, &message, 4, 0, IPC_NOWAIT));
	DO(msgrcv(id, &message, sizeof(message.text), 0, IPC_NOWAIT));
	DO(msgrcv(id, &message, sizeof(message.text), -2, IPC_NOWAIT));
	DO(msgctl(id, IPC_RMID, NULL));
}

static void shared(int n)
{
	int sem = semget(IPC_PRIVATE, 3, 0600), shm = shmget(IPC_PRIVATE, 4096 << n % 2, 0600);
	struct sembuf operation = { n % 4, n % 3 - 1, IPC_NOWAIT };
	struct shmid_ds about;
	void *at = shmat(shm, NULL, n % 2 ? SHM_RDONLY : 0);

	DO(semctl(sem, n % 4, SETVAL, n));
	DO(semop(sem, &operation, 1));
	DO(semctl(sem, 1, GETVAL));
	DO(semctl(sem, 0, IPC_RMID));
	DO(shmctl(shm, IPC_STAT, &about));
	DO(shmdt(at));
	DO(shmdt(at));
	DO(shmctl(shm, IPC_RMID, NULL));
}

static void timers(int n)
{
	struct itimerspec when = { { 0, 0 }, { 100 + n, n % 5 ? 0 : 2000000000 } };
	struct itimerval value = { { 0, 0 }, { 100 + n, 0 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;
	uint64_t ticks;

	DO(timerfd_settime(fd, 0, &when, NULL));
	DO(timerfd_gettime(fd, &when));
	DO(read(fd, &ticks, sizeof(ticks)));
	DO(close(fd));
	DO(setitimer(ITIMER_REAL, &value, NULL));
	DO(getitimer(n % 3, &value));
	value.it_value.tv_sec = 0;
	DO(setitimer(ITIMER_REAL, &value, NULL));
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer)) {
		DO(timer_settime(timer, 0, &when, NULL));
		DO(timer_gettime(timer, &when));
		DO(timer_delete(timer));
	}
}

static void files(int n)
{
	int fd = open("/tmp/rare", O_RDWR | O_CREAT, 0600), e = eventfd(n, EFD_NONBLOCK), poll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec at[2] = { { n, 0 }, { 0, n % 2 ? UTIME_NOW : UTIME_OMIT } };
	uint64_t number = n % 4 ? 1 : UINT64_MAX;
	struct statfs about;
	char value[16];

	DO(write(e, &number, sizeof(number)));
	DO(read(e, &number, sizeof(number)));
	DO(read(e, &number, n % 2 ? 4 : 8));
	DO(epoll_ctl(poll, EPOLL_CTL_ADD, e, &event));
	DO(epoll_ctl(poll, n % 2 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, e, &event));
	DO(epoll_ctl(poll, EPOLL_CTL_DEL, e, &event));
	DO(close(poll));
	DO(close(e));
	DO(futimens(fd, at));
	DO(utimensat(AT_FDCWD, n % 3 ? "/tmp/rare" : "/tmp/nowhere", at, AT_SYMLINK_NOFOLLOW));
	DO(flock(fd, n % 2 ? LOCK_EX : LOCK_SH | LOCK_NB));
	DO(flock(fd, n % 5 ? LOCK_UN : 77));
	DO(ftruncate(fd, n % 4 ? 100 : -1));
	DO(fchmod(fd, 0600 | n % 8));
	DO(fchown(fd, n % 2, -1));
	DO(fstatfs(fd, &about));
	DO(fsetxattr(fd, n % 2 ? "trusted.rare" : "wrong", "value", 5, n % 3 ? 0 : XATTR_CREATE));
	DO(fgetxattr(fd, "trusted.rare", value, n % 3 ? sizeof(value) : 2));
	DO(link("/tmp/rare", n % 3 ? "/tmp/rarer" : "/tmp/rare"));
	DO(symlink("rare", "/tmp/rarest"));
	DO(rename("/tmp/rarer", n % 2 ? "/tmp/rarest" : "/nowhere/rare"));
	DO(mknod("/tmp/pipe", S_IFIFO | 0600, 0));
	DO(rmdir(n % 2 ? "/tmp/pipe" : "/tmp/rarest/x"));
	DO(unlink("/tmp/pipe"));
	DO(unlink("/tmp/rarest"));
	DO(unlink("/tmp/rarer"));
	DO(close(fd));
}

int main(void)
{
	struct sysinfo system;
	struct tms used;

	for (int n = 0; n < 24; n++) {
		queues(n);
		shared(n);
		timers(n);
		files(n);
		DO(sysinfo(&system));
		DO(times(&used));
		DO(setpriority(n % 2 ? PRIO_PROCESS : 4, 0, 1));
	}
	unlink("/tmp/rare");
	return 0;
}
