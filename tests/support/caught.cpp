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
	if (number % 7 == 3)
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
			sum += checked(add + 2);
		}
	}
	return sum;
}

__attribute__((noinline)) static unsigned caught(unsigned number)
{
	try {
		return through(number) & 1;
	} catch (unsigned thrown) {
		return thrown;
	} catch (const char *) {
		sink++;
		throw;
	}
}

int main()
{
	unsigned sum = 0;

	for (unsigned number = 0; number < 8; number++) {
		try {
			sum += caught(number);
		} catch (...) {
			sum += 100;
		}
	}
	std::printf("%u %u\n", sum, dropped);
	return 0;
}
