// values.cpp: values of C++ for the tests: classes with bases, references, enumerations, functions with one name.
#include <cstdio>
#include <string>

namespace app {
enum class Color : unsigned char { Red, Green = 7 };
struct Base {
	int id = 3;
	static int count;
	virtual ~Base() {}
};
int Base::count = 1;
class Rect : public Base {
public:
	int w, h;
	double ratio = 1.5;
	Color color = Color::Green;
	Rect(int w, int h) : w(w), h(h) {}
	__attribute__((noinline)) int scale(int k)
	{
		w *= k;
		return w;
	}
	int sum(int k) { return w + h + k; }
};
struct Pair {
	long first, second;
};
struct Kept {
	long value;
	Kept(long value) : value(value) {}
	Kept(const Kept &other) : value(other.value) {}
};
template <class T> __attribute__((noinline)) T twice(const T &value)
{
	return value + value;
}
} // namespace app

__attribute__((noinline)) long take(const app::Rect &rect, app::Pair pair, app::Kept kept, app::Color color, long last)
{
	__asm__ volatile("" ::: "memory");
	return rect.w + pair.first + pair.second + kept.value + static_cast<long>(color) + last;
}

__attribute__((noinline)) std::size_t name(const std::string &text)
{
	__asm__ volatile("" : : "r"(&text) : "memory");
	return text.size();
}

int main(int argc, char **)
{
	std::printf("%zu\n", name("a name that is too long for the object"));
	app::Rect rect(argc + 1, 4);
	std::printf("%d %d %g\n", rect.scale(3), app::twice(argc), app::twice(1.5));
	std::printf("%d\n", rect.sum(argc));
	std::printf("%ld\n", take(rect, app::Pair{5, 6}, app::Kept(8), app::Color::Red, 9));
	return 0;
}
