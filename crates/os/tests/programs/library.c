/* A library whose constructor leaves a mark, and acts as the environment says. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t signals;

void mark(const char *word)
{
	int fd = open(getenv("MARKS"), O_WRONLY | O_CREAT | O_APPEND, 0644);

	write(fd, word, strlen(word));
	write(fd, "\n", 1);
	close(fd);
}

static void handle(int signal)
{
	signals++;
}

static void *thread(void *unused)
{
	mark("thread");
	return NULL;
}

static int is(const char *act)
{
	return getenv("ACT") && strcmp(getenv("ACT"), act) == 0;
}

static void await_signal(void)
{
	signal(SIGUSR1, handle);
	mark("waits");
	while (!signals)
		usleep(1000);
	mark("signalled");
}

static void start_thread(void)
{
	pthread_t started;

	pthread_create(&started, NULL, thread, NULL);
	pthread_join(started, NULL);
}

static void start_program(void)
{
	char *arguments[] = { "true", NULL };
	pid_t pid;

	if (posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) == 0)
		waitpid(pid, NULL, 0);
}

static void execute_again(void)
{
	char path[4096] = "";

	readlink("/proc/self/exe", path, sizeof(path) - 1);
	unsetenv("ACT");
	execl(path, path, NULL);
}

/* Both processes continue to main(); the first waits for the second, and ends as it did. */
static void fork_here(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		return;
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		_exit(9);
}

__attribute__((constructor)) static void begin(void)
{
	mark("library");
	if (is("exit"))
		_exit(3);
	if (is("crash"))
		kill(getpid(), SIGSEGV);
	if (is("signal"))
		await_signal();
	if (is("stop"))
		kill(getpid(), SIGSTOP);
	if (is("thread"))
		start_thread();
	if (is("spawn"))
		start_program();
	if (is("again"))
		execute_again();
	if (is("fork"))
		fork_here();
}
