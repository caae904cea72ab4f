/*
 * tests/support/copies.c: inlined copies with variables in all kinds of places. The tests assemble copies.s, which is
 * gcc 12's output for this file, so that offsets do not depend on the installed compiler:
 *
 *   gcc -O2 -gdwarf-5 -fcf-protection=none -fno-asynchronous-unwind-tables -fno-stack-protector -S -o copies.s copies.c
 */
typedef unsigned long size_t;

struct task_struct {
	volatile long state;
	int pid;
	int tgid;
};

struct request {
	unsigned write : 1;
	unsigned flags : 7;
	int error;
	size_t count;
	char name[16];
};

typedef struct {
	unsigned long pte;
} pte_t;

extern void effect(void *, long);
extern size_t length(const char *);
static int calls;

/* Nested in `checked`; begins at the same instruction. */
static inline __attribute__((always_inline)) int positive(long number)
{
	if (number < 0)
		effect(0, number);
	return number > 0;
}

static inline __attribute__((always_inline)) int checked(struct request *rq, long limit)
{
	static int refused;
	int good = positive(limit);

	if (rq->count > limit) {
		refused++;
		effect(&refused, limit);
		return -1;
	}
	return good;
}

static inline __attribute__((always_inline)) unsigned long young(pte_t pte, int shift)
{
	return (pte.pte >> shift) & 1;
}

/* In memory, with members of all kinds; a local type. */
int submit(const char *name, size_t count, int write)
{
	struct request rq = { .write = write, .count = count };
	struct pair { int low, high; } pair = { write, calls };
	int index;

	for (index = 0; index < 15 && name[index]; index++)
		rq.name[index] = name[index];
	effect(&rq, index);
	effect(&pair, index);
	if (checked(&rq, 4096) < 0)
		return -1;
	calls++;
	return rq.error;
}

int resubmit(struct task_struct *task, struct request *rq, long limit)
{
	int kind = checked(rq, limit + 1);

	effect(task, kind);
	return kind + task->pid;
}

unsigned long accessed(pte_t *table, unsigned long address)
{
	pte_t pte = table[address >> 12 & 511];
	unsigned long size = 1UL << (address & 63);

	effect(&table[1], size);
	return young(pte, 5) + size;
}

/* Larger than any value in a program, and not available everywhere. */
struct table {
	char rows[20000];
};

long summed(long at)
{
	{
		struct table copy;

		effect(&copy, at);
		at += copy.rows[at];
	}
	effect(0, at);
	return at;
}
