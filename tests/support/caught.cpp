/* caught.cpp: a program with exceptions that are caught, and destructors that run on their way. */
#include <cstdio>

static unsigned dropped;
static volatile unsigned sink = 3;

struct Noted {
	unsigned number;

	~Noted()
	{
		if (number > 3)
			dropped += 2;
		else
			dropped++;
	}
};

static inline unsigned checked(unsigned number)
{
	if (number % 5 == 2)
		throw number;
	return number * 3 + sink;
}

__attribute__((noinline)) static unsigned picky(unsigned number)
{
	if (number % 7 == 6)
		throw "refused";
	return number + sink;
}

__attribute__((noinline)) static unsigned through(unsigned number)
{
	Noted noted = { number };
	unsigned sum = 0;

	for (unsigned add = 0; add < number; add++) {
		switch (add % 3) {
		case 0:
			sum += picky(add);
			break;
		case 1:
			sum += add + noted.number;
			break;
		default:
			sum += checked(add + 1);
		}
	}
	return sum;
}

__attribute__((noinline)) static unsigned caught(unsigned number)
{
	try {
		return (through(number) + checked(number)) & 1;
	} catch (unsigned thrown) {
		return thrown;
	} catch (const char *) {
		sink++;
		throw;
	}
}

int main()
{
	static const unsigned numbers[] = { 2, 5, 7 };
	unsigned sum = 0;

	/* Throwing takes 300,000 instructions. */
	for (unsigned number : numbers) {
		try {
			sum += caught(number);
		} catch (...) {
			sum += 100;
		}
	}
	std::printf("%u %u\n", sum, dropped);
	return 0;
}
