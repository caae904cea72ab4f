// names.cpp: inlined functions whose names have paths, arguments and operators.
#include <cstdio>
#include <vector>

#define inlined inline __attribute__((always_inline))
#define apart __attribute__((noinline))

static volatile int sink;

namespace ns {
template <class T> static inlined T sq(T x)
{
	sink++;
	return x * x;
}

struct T {
	int v;
	inlined int method(int a) const;
	inlined bool operator<(const T &other) const
	{
		return v < other.v;
	}
};

inlined int T::method(int a) const
{
	return a * v;
}

namespace {
inlined int hidden(int x)
{
	return x ^ 5;
}
}

apart int caller(int x, T *t, T *u)
{
	return sq(x) + (int)sq((double)x) + t->method(x) + hidden(x) + (*t < *u);
}
}

namespace other {
static inlined int sq(int x)
{
	return x - 1;
}

apart int caller(int x)
{
	return sq(x);
}
}

int main(int argc, char **)
{
	std::vector<int> v;
	ns::T t{argc}, u{5};

	for (int i = 0; i < argc * 100; i++)
		v.push_back(i ^ 3);
	printf("%d %d\n", ns::caller(argc, &t, &u), v[0] + other::caller(argc));
}
