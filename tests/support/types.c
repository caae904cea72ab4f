/* tests/support/types.c: types of a small kernel: the source of the tests' BTF and debug information. */

typedef unsigned int u32;
typedef unsigned char u8;
typedef long long loff_t;
typedef u32 fmode_t;
typedef int (*filldir_t)(void *, const char *);
typedef _Bool bool_t;

enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_MAX };
enum state { STATE_NEGATIVE = -2, STATE_RUNNING = 0, STATE_DEAD = 16 };

struct nowhere;

struct list_head {
	struct list_head *next, *prev;
};

struct qstr {
	union {
		struct {
			u32 hash;
			u32 len;
		};
		unsigned long hash_len;
	};
	const unsigned char *name;
};

struct dentry {
	unsigned int d_flags;
	struct dentry *d_parent;
	struct qstr d_name;
	unsigned char d_iname[32];
};

struct path {
	struct nowhere *mnt;
	struct dentry *dentry;
};

struct file {
	fmode_t f_mode;
	const struct path f_path;
	volatile loff_t f_pos;
	filldir_t filldir;
};

struct task_struct {
	volatile long state;
	int pid;
	int tgid;
	enum state exit_state;
	unsigned sched_reset_on_fork : 1;
	unsigned sched_contributes_to_load : 3;
	signed int delta : 5;
	unsigned : 0;
	unsigned in_execve : 1;
	unsigned char policy : 4;
	enum pid_type kind : 2;
	unsigned long wide : 40;
	struct task_struct *parent;
	struct list_head children, tasks[2];
	char comm[16];
	bool_t flag;
	int matrix[3][3]; /* gcc before 14 writes the dimensions to BTF in reverse order */
	double load;
	union {
		void *stack;
		struct {
			short half;
			short other;
		};
	};
};

struct big {
	long a, b, c;
};

struct pair {
	long a, b;
};

struct packed_bits {
	unsigned char before;
	long across : 60;
	unsigned long behind : 60;
} __attribute__((packed));

struct packed_bits packed_bits;
struct task_struct init_task;
volatile unsigned long jiffies;
const char linux_banner[] = "Linux version 0";
/* Only the symbol table has its length. */
extern const char endless[];

const char *start_of_endless(void)
{
	return endless;
}
int per_thing[4];
static int hidden;

long vfs_read(struct file *file, char *buf, unsigned long count, loff_t *pos)
{
	return file->f_pos + count + *pos + buf[0] + hidden;
}

u8 narrow(u8 small, _Bool truth, enum state state)
{
	return small + truth + state;
}

void after_pair(struct pair pair, u32 last, struct big big, int behind)
{
	hidden = pair.a + last + big.c + behind;
}

int __traceiter_opened(void *data, struct file *file, int flags)
{
	return data && file && flags;
}

struct pair make_pair(int count, ...)
{
	struct pair pair = { count, count };

	return pair;
}
