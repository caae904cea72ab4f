// kinds.cpp: members of many kinds, with values that no two have in common, for a comparison with gdb.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kinds {
enum Plain { Zero, One = 101, Negative = -102 };
enum class Small : signed char { A = -103, B = 104 };
enum class Large : std::uint64_t { Top = 0xfedcba9876543210 };
struct Empty {};
struct First {
	int first = 105;
	virtual int value() { return first; }
};
struct Second {
	short second = -106;
	long both = 107;
};
struct Derived : First, Second {
	char third = 'k';
	int value() override { return third; }
};
struct alignas(16) Aligned {
	unsigned char byte = 208;
};
template <class T, int N> struct Holder {
	T held[N];
	static constexpr int size = N;
	typedef T element;
	element last = T(109);
};
struct Bits {
	unsigned one : 3;
	int two : 5;
	unsigned long long three : 40;
	bool four : 1;
	Small five : 8;
};
struct Recursive {
	int depth;
	Recursive *next;
};
union Either {
	std::uint32_t whole;
	std::uint8_t parts[4];
};
struct Kinds {
	bool yes = true, no = false;
	char letter = 'x';
	signed char tiny = -110;
	unsigned char byte = 211;
	short number = -11111;
	unsigned short word = 61112;
	int integer = -1111111113;
	unsigned plain = 4111111114u;
	long wide = -1111111111111111115;
	unsigned long long widest = 11111111111111111116ull;
	char16_t c16 = 0x1117;
	char32_t c32 = 0x11118;
	wchar_t wide_char = 0x1119;
	std::int8_t i8 = -120;
	std::uint64_t u64 = 1111111111111111121;
	Plain enumerated = Negative;
	Small small = Small::A;
	Large large = Large::Top;
	Derived derived;
	Aligned aligned;
	Holder<short, 3> shorts = {{122, -123, 124}, -125};
	Holder<Second, 2> nested = {{{126, 127}, {-128, 129}}, {}};
	Bits bits = {5, -7, 0x7fffffffff, true, Small::B};
	Either either = {0x81828384};
	int matrix[2][3] = {{131, 132, 133}, {134, -135, 136}};
	Recursive inner = {137, nullptr};
	Recursive outer = {138, &inner};
	const int constant = 139;
	volatile int changing = 140;
	int &reference = outer.depth;
	union {
		int unnamed = 141;
		char low;
	};
	std::pair<int, char> pair = {143, 'p'};
	std::array<long, 2> array = {144, -145};
	std::unique_ptr<Recursive> owner = std::make_unique<Recursive>(Recursive{146, nullptr});
	std::optional<int> some = 147;
	std::vector<int> vector = {148, 149};
	std::string text = "a string";
	Empty empty;
	int after = 150;
	Kinds(const Kinds &) = delete;
	Kinds() = default;
};

__attribute__((noinline)) int look(const Kinds &k)
{
	__asm__ volatile("" : : "r"(&k) : "memory");
	return k.after;
}
} // namespace kinds

int main()
{
	kinds::Kinds k;
	return look(k) != 150;
}
