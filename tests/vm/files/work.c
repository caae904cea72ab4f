/*
 * work.c: exercises a little of everything in the kernel: work ROUNDS. All processes and threads that it creates end
 * before it does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 16];
static volatile int signals;

static void files(void)
{
	struct stat st;
	struct iovec iov[2] = { { bytes, 100 }, { bytes + 100, 5000 } };
	int fd = open("work.file", O_RDWR | O_CREAT | O_TRUNC, 0644), dir, zero, tty;
	DIR *d;

	if (fd < 0)
		exit(1);
	write(fd, bytes, sizeof(bytes));
	pwritev(fd, iov, 2, 300);
	lseek(fd, 0, SEEK_SET);
	lseek(fd, 10, SEEK_CUR);
	lseek(fd, -10, SEEK_END);
	lseek(fd, 5, SEEK_DATA);
	pread(fd, bytes, 9000, 7);
	readv(fd, iov, 2);
	ftruncate(fd, 1234);
	fallocate(fd, 0, 0, 1 << 16);
	fsync(fd);
	flock(fd, LOCK_EX);
	flock(fd, LOCK_UN);
	fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, O_APPEND);
	fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_len = 5 });
	fchmod(fd, 0600);
	fstat(fd, &st);
	futimens(fd, NULL);
	close(dup(fd));
	close(fd);
	link("work.file", "work.link");
	symlink("work.link", "work.symlink");
	stat("work.symlink", &st);
	lstat("work.symlink", &st);
	readlink("work.symlink", bytes, 100);
	access("work.nothing", R_OK);
	rename("work.link", "work.renamed");
	truncate("work.renamed", 10);
	mkdir("work.dir", 0755);
	mknod("work.dir/fifo", S_IFIFO | 0600, 0);
	dir = open(".", O_RDONLY | O_DIRECTORY);
	linkat(dir, "work.renamed", dir, "work.dir/again", 0);
	fchmodat(dir, "work.dir/again", 0640, 0);
	close(dir);
	d = opendir("/sys/kernel");
	while (d && readdir(d))
		;
	closedir(d);
	d = opendir("work.dir");
	while (d && readdir(d))
		;
	closedir(d);
	unlink("work.dir/fifo");
	unlink("work.dir/again");
	rmdir("work.dir");
	unlink("work.symlink");
	unlink("work.renamed");
	unlink("work.file");
	unlink("work.nothing");
	zero = open("/dev/zero", O_RDWR);
	read(zero, bytes, 10000);
	write(zero, bytes, 10000);
	close(zero);
	tty = open("/dev/null", O_RDWR);
	write(tty, bytes, 100);
	close(tty);
	getcwd(bytes, 1000);
	chdir("/tmp");
	chdir("/root");
	sync();
}

static void pipes(void)
{
	int p[2], q[2];
	char name[100];

	pipe(p);
	pipe2(q, O_NONBLOCK);
	write(p[1], bytes, 5000);
	tee(p[0], q[1], 3000, 0);
	splice(p[0], NULL, q[1], NULL, 1000, SPLICE_F_NONBLOCK);
	read(p[0], bytes, 100);
	read(q[0], bytes, 60000);
	read(q[0], bytes, 1);
	fcntl(p[0], F_SETPIPE_SZ, 1 << 17);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", p[0]);
	readlink(name, bytes, 100);
	poll(&(struct pollfd){ p[0], POLLIN, 0 }, 1, 0);
	close(p[0]);
	close(p[1]);
	close(q[0]);
	close(q[1]);
}

static void reads(const char *name)
{
	int fd = open(name, O_RDONLY), out = open("/dev/null", O_WRONLY);

	while (read(fd, bytes, 4096) > 0)
		;
	lseek(fd, 0, SEEK_SET);
	sendfile(out, fd, NULL, 1000);
	close(fd);
	close(out);
}

static void sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int pair[2], one = 1, server, client, peer, udp;
	struct iovec iov = { bytes, 3000 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	send(pair[0], bytes, 1000, 0);
	sendmsg(pair[0], &msg, 0);
	recv(pair[1], bytes, 100, MSG_PEEK);
	recv(pair[1], bytes, 10000, 0);
	shutdown(pair[0], SHUT_WR);
	recv(pair[1], bytes, 1, 0);
	close(pair[0]);
	close(pair[1]);

	server = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	bind(server, (void *)&in, sizeof(in));
	listen(server, 5);
	getsockname(server, (void *)&in, &len);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (!connect(client, (void *)&in, sizeof(in))) {
		peer = accept(server, NULL, NULL);
		setsockopt(client, 6, 1, &one, sizeof(one));
		send(client, bytes, 20000, 0);
		recv(peer, bytes, 20000, MSG_WAITALL);
		send(peer, bytes, 10, 0);
		poll(&(struct pollfd){ client, POLLIN, 0 }, 1, 100);
		recv(client, bytes, 10, 0);
		getpeername(client, (void *)&in, &len);
		shutdown(client, SHUT_RDWR);
		recv(peer, bytes, 10, 0);
		close(peer);
	}
	close(client);
	close(server);

	udp = socket(AF_INET, SOCK_DGRAM, 0);
	in.sin_port = htons(9999);
	bind(udp, (void *)&in, sizeof(in));
	sendto(udp, bytes, 500, 0, (void *)&in, sizeof(in));
	recv(udp, bytes, 1000, MSG_DONTWAIT);
	recv(udp, bytes, 1000, MSG_DONTWAIT);
	close(udp);
}

static void memory(void)
{
	char *m = mmap(NULL, 1 << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *f;
	int fd = open("/proc/self/exe", O_RDONLY), i;

	for (i = 0; i < 1 << 21; i += 4096 * 5)
		m[i] = 1;
	mprotect(m + 4096, 8192, PROT_READ);
	madvise(m, 1 << 16, MADV_DONTNEED);
	madvise(m, 1 << 20, MADV_RANDOM);
	munmap(m + 40960, 4096);
	m = mremap(m, 40960, 81920, MREMAP_MAYMOVE);
	mincore(m, 40960, (void *)bytes);
	mlock(m, 4096);
	munlock(m, 4096);
	munmap(m, 81920);
	f = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (f != MAP_FAILED) {
		f[0]++;
		bytes[0] += f[5000];
		msync(f, 8192, MS_ASYNC);
		munmap(f, 8192);
	}
	close(fd);
	sbrk(8192);
	sbrk(-8192);
}

static void caught(int signal)
{
	signals += signal;
}

static void *thread(void *lock)
{
	int i;

	for (i = 0; i < 20; i++) {
		pthread_mutex_lock(lock);
		sched_yield();
		pthread_mutex_unlock(lock);
	}
	return NULL;
}

static void processes(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct timespec nap = { 0, 1000000 };
	struct itimerval timer = { .it_value = { 0, 2000 } };
	struct rlimit limit;
	struct rusage usage;
	struct utsname name;
	pthread_t id[3];
	sigset_t set;
	int i, status;
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		umask(022);
		kill(getpid(), SIGUSR1);
		execl("/proc/self/exe", "work", "0", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	pid = vfork();
	if (!pid)
		_exit(3);
	wait4(pid, &status, 0, &usage);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (i = 0; i < 3; i++)
		pthread_create(&id[i], NULL, thread, &lock);
	for (i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	signal(SIGUSR1, caught);
	signal(SIGALRM, caught);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	sigpending(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	nanosleep(&nap, NULL);
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &nap);
	getrlimit(RLIMIT_NOFILE, &limit);
	getrusage(RUSAGE_SELF, &usage);
	setpriority(PRIO_PROCESS, 0, 1);
	getpriority(PRIO_PROCESS, 0);
	sched_getaffinity(0, sizeof(bytes), (void *)bytes);
	getgroups(0, NULL);
	uname(&name);
	syscall(SYS_getppid);
	getsid(0);
}

static void events(void)
{
	int epoll = epoll_create1(0), event = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	int watch = inotify_init1(IN_NONBLOCK), file;
	struct itimerspec spec = { .it_value = { 0, 100000 } };
	struct epoll_event e = { .events = EPOLLIN };
	fd_set set;

	epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &e);
	write(event, &(uint64_t){ 1 }, 8);
	epoll_wait(epoll, &e, 1, 0);
	read(event, bytes, 8);
	read(event, bytes, 8);
	timerfd_settime(timer, 0, &spec, NULL);
	epoll_wait(epoll, &e, 1, 50);
	read(timer, bytes, 8);
	epoll_ctl(epoll, EPOLL_CTL_DEL, timer, NULL);
	inotify_add_watch(watch, "/root", IN_ALL_EVENTS);
	file = open("work.watched", O_CREAT | O_RDWR, 0600);
	write(file, "a", 1);
	close(file);
	unlink("work.watched");
	read(watch, bytes, sizeof(bytes));
	FD_ZERO(&set);
	FD_SET(event, &set);
	select(event + 1, &set, NULL, NULL, &(struct timeval){ 0, 100 });
	close(watch);
	close(timer);
	close(event);
	close(epoll);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	while (rounds-- > 0) {
		files();
		pipes();
		reads("/proc/self/maps");
		reads("/proc/self/status");
		reads("/proc/stat");
		reads("/proc/meminfo");
		sockets();
		memory();
		processes();
		events();
	}
	return 0;
}
