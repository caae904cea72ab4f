/*
 * loads.c: known amounts of the kinds of work that system counters count.
 *
 *   loads anon N           writes to N new pages of memory
 *   loads cow N            a child that writes to N pages of its parent
 *   loads mapped FILE N    drops a file's pages, and reads from each of N mapped ones
 *   loads fork N           N children by fork(), which do nothing
 *   loads vfork N          N children by vfork(), which execute /bin/true
 *   loads sem N            N operations on a semaphore of System V
 *   loads msg N            N messages sent to a queue of System V, and received
 *   loads udp N            N datagrams, sent to itself and received
 *   loads tcp N            N connections to itself, 1000 bytes sent over each
 *   loads refused N        N connections to a port without a listener
 *   loads switches N       N sleeps and spinning between two getppid; prints all and involuntary switches
 *   loads fences N         N barriers in all threads of the process, one of which spins on another CPU
 *   loads maps N           two threads that map and unmap N times each
 *   loads pipes N          two threads that write N bytes each to one pipe, while a third one reads
 *   loads lines N          writes N lines of 20 bytes to a temporary file, and reads them
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L

static void check(long result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

static char *fresh(long n)
{
	char *pages = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		check(-1, "mmap");
	madvise(pages, n * PAGE, MADV_NOHUGEPAGE);
	return pages;
}

static void touch(char *pages, long n)
{
	for (long i = 0; i < n; i++)
		((volatile char *)pages)[i * PAGE] = 1;
}

static void cow(long n)
{
	char *pages = fresh(n);

	touch(pages, n);
	if (!fork()) {
		touch(pages, n);
		_exit(0);
	}
	wait(NULL);
}

static void mapped(const char *file, long n)
{
	int fd = open(file, O_RDONLY);
	volatile char *pages;
	long sum = 0;

	check(fd, file);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	pages = mmap(NULL, n * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pages == MAP_FAILED)
		check(-1, "mmap");
	madvise((void *)pages, n * PAGE, MADV_RANDOM);
	for (long i = 0; i < n; i++)
		sum += pages[i * PAGE];
}

static void children(long n, int borrowed)
{
	while (n--) {
		if (borrowed ? !vfork() : !fork()) {
			if (borrowed)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		wait(NULL);
	}
}

static void semaphores(long n)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf up = { .sem_op = 1 };

	check(id, "semget");
	while (n--)
		check(semop(id, &up, 1), "semop");
	semctl(id, 0, IPC_RMID);
}

static void messages(long n)
{
	int id = msgget(IPC_PRIVATE, 0600);
	struct {
		long type;
		char text[8];
	} message = { 1, "hello" };

	check(id, "msgget");
	while (n--) {
		check(msgsnd(id, &message, sizeof(message.text), 0), "msgsnd");
		check(msgrcv(id, &message, sizeof(message.text), 0, 0), "msgrcv");
	}
	msgctl(id, IPC_RMID, NULL);
}

static int bound(int type, struct sockaddr_in *at)
{
	socklen_t size = sizeof(*at);
	int fd = socket(AF_INET, type, 0);

	check(fd, "socket");
	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	check(bind(fd, (void *)at, size), "bind");
	check(getsockname(fd, (void *)at, &size), "getsockname");
	return fd;
}

static void datagrams(long n)
{
	struct sockaddr_in at;
	int fd = bound(SOCK_DGRAM, &at);
	char text[100] = "";

	while (n--) {
		check(sendto(fd, text, sizeof(text), 0, (void *)&at, sizeof(at)), "sendto");
		check(recv(fd, text, sizeof(text), 0), "recv");
	}
}

static void connections(long n, int accepted)
{
	struct sockaddr_in at;
	int fd = bound(SOCK_STREAM, &at);
	char text[1000] = "";

	if (accepted)
		check(listen(fd, 1), "listen");
	while (n--) {
		int to = socket(AF_INET, SOCK_STREAM, 0), from;
		int result = connect(to, (void *)&at, sizeof(at));

		if (accepted) {
			check(result, "connect");
			from = accept(fd, NULL, NULL);
			check(from, "accept");
			check(send(to, text, sizeof(text), 0), "send");
			close(to);
			for (ssize_t got = 1; got > 0;)
				got = recv(from, text, sizeof(text), 0);
			close(from);
			continue;
		}
		close(to);
	}
}

static void print_switches(const char *what, const struct rusage *before, const struct rusage *after)
{
	long made = after->ru_nivcsw - before->ru_nivcsw;

	printf("%s %ld %ld\n", what, after->ru_nvcsw - before->ru_nvcsw + made, made);
}

static void switches(long n)
{
	struct rusage outer[2], inner[2];

	getrusage(RUSAGE_SELF, &outer[0]);
	syscall(SYS_getppid);
	getrusage(RUSAGE_SELF, &inner[0]);
	/* A sleep that ends before the CPU is given up is not a switch. */
	do {
		usleep(1000);
		getrusage(RUSAGE_SELF, &inner[1]);
	} while (inner[1].ru_nvcsw - inner[0].ru_nvcsw < n);
	for (volatile long i = 0; i < 100000000; i++)
		;
	getrusage(RUSAGE_SELF, &inner[1]);
	syscall(SYS_getppid);
	getrusage(RUSAGE_SELF, &outer[1]);
	print_switches("least", &inner[0], &inner[1]);
	print_switches("most", &outer[0], &outer[1]);
}

static volatile int over;

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *spin(void *unused)
{
	on_cpu(1);
	while (!over)
		;
	return unused;
}

static void fences(long n)
{
	pthread_t id;

	on_cpu(0);
	check(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0), "membarrier");
	pthread_create(&id, NULL, spin, NULL);
	usleep(50000);
	while (n--)
		check(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0), "membarrier");
	over = 1;
	pthread_join(id, NULL);
}

static void *map(void *n)
{
	for (long i = (long)n; i > 0; i--)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return NULL;
}

static int ends[2];

static void *fill(void *n)
{
	for (long i = (long)n; i > 0; i--)
		if (write(ends[1], "a", 1) != 1)
			exit(1);
	return NULL;
}

static void twice(void *(*run)(void *), long n)
{
	pthread_t one, two;

	pthread_create(&one, NULL, run, (void *)n);
	pthread_create(&two, NULL, run, (void *)n);
	for (char byte; run == fill && n > 0; n--)
		if (read(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			exit(1);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
}

static void lines(long n)
{
	char line[20] = "nineteen characters";
	int fd = open("/tmp/lines", O_RDWR | O_CREAT | O_TRUNC, 0600);

	check(fd, "/tmp/lines");
	for (long i = 0; i < n; i++)
		check(pwrite(fd, line, sizeof(line), i * sizeof(line)), "pwrite");
	while (read(fd, line, sizeof(line)) > 0)
		;
	unlink("/tmp/lines");
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[argc - 1]) : 0;

	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(what, "anon"))
		touch(fresh(n), n);
	else if (!strcmp(what, "cow"))
		cow(n);
	else if (!strcmp(what, "mapped") && argc == 4)
		mapped(argv[2], n);
	else if (!strcmp(what, "fork") || !strcmp(what, "vfork"))
		children(n, what[0] == 'v');
	else if (!strcmp(what, "sem"))
		semaphores(n);
	else if (!strcmp(what, "msg"))
		messages(n);
	else if (!strcmp(what, "udp"))
		datagrams(n);
	else if (!strcmp(what, "tcp") || !strcmp(what, "refused"))
		connections(n, what[0] == 't');
	else if (!strcmp(what, "switches"))
		switches(n);
	else if (!strcmp(what, "fences"))
		fences(n);
	else if (!strcmp(what, "maps"))
		twice(map, n);
	else if (!strcmp(what, "pipes") && !pipe(ends))
		twice(fill, n);
	else if (!strcmp(what, "lines"))
		lines(n);
	else
		return 2;
	return 0;
}
