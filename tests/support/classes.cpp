// classes.cpp: members of many kinds in classes of C++ and of its library, for a comparison with gdb.
#include <array>
#include <bitset>
#include <complex>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
#include <atomic>
#include <chrono>

namespace outer { namespace inner {
enum Shade { Dark = 1, Light = 250 };
enum class Level : short { Low = -1, High = 300 };
struct Deep { Shade shade = Light; Level level = Level::Low; };
}}
struct Base { virtual ~Base() {} long base = 1; };
struct Left : virtual Base { int left = 2; };
struct Right : virtual Base { int right = 3; };
struct Diamond : Left, Right { int own = 4; };
struct A1 { int a = 5; int same = 51; };
struct B1 { int b = 6; int same = 61; };
struct Both : A1, B1 { int c = 7; };
struct Chain1 { int one = 8; };
struct Chain2 : Chain1 { int two = 9; };
struct Chain3 : private Chain2 { int three = 10; };
struct EmptyBase {};
struct FromEmpty : EmptyBase { int value = 11; };
struct Method { int m(int x) const { return x; } int field = 12; static int shared; static const int fixed = 3; };
int Method::shared = 13;
template <class T, class U = char> struct Two { T t; U u; };
template <int N> struct Sized { char room[N]; };
template <class... T> struct Many { std::tuple<T...> all; };
struct Refs { int target = 14; int &lvalue = target; int &&rvalue = std::move(target); const std::string &text; int (&array)[2]; };
struct Lambda { int captured; };
typedef unsigned long counter_t;
using alias_t = counter_t;
struct [[gnu::packed]] Tight { char c = 1; double d = 2.5; int i : 3 = -2; };
struct Bitty { outer::inner::Shade shade : 8; bool flag : 1; long long wide : 45; unsigned char : 0; char last : 4; };
union Any { int i; double d; struct { short s[2]; } in; };
static int pair_of[2] = {15, 16};
static const std::string text_of("referred");
struct More {
	outer::inner::Deep deep;
	outer::inner::Shade shade = outer::inner::Dark, unknown = outer::inner::Shade(77);
	Diamond diamond;
	Both both;
	Chain3 chain;
	FromEmpty from_empty;
	Method method;
	int Method::*to_member = &Method::field;
	int (Method::*to_method)(int) const = &Method::m;
	int (*to_function)(int, char **) = nullptr;
	std::nullptr_t null = nullptr;
	Two<short> two = {17, 't'};
	Two<Two<int, long>, double> two_of_two = {{18, 19}, 20.5};
	Sized<5> sized = {"size"};
	Many<int, char, double> many = {{21, 'm', 22.25}};
	Refs refs{14, refs.target, std::move(refs.target), text_of, pair_of};
	alias_t alias = 23;
	Tight tight;
	Bitty bitty = {outer::inner::Light, true, -24, 5};
	Any any = {25};
	std::string empty_string, short_string = "short", long_string = "a string that is too long for the object itself";
	std::string_view view = "viewed", empty_view;
	std::vector<int> empty_vector, vector = {26, -27};
	std::vector<std::string> strings = {"one", "two"};
	std::vector<std::pair<int, char>> pairs = {{28, 'a'}, {29, 'b'}};
	std::vector<bool> bools = {true, false};
	std::vector<std::vector<int>> nested = {{30}, {31, 32}};
	std::vector<double> doubles = {1.5, -2.5};
	std::vector<outer::inner::Level> levels = {outer::inner::Level::High};
	std::array<int, 3> array = {33, 34, 35};
	std::unique_ptr<int> unique = std::make_unique<int>(36), no_unique;
	std::unique_ptr<Base> polymorphic = std::make_unique<Base>();
	std::unique_ptr<int[]> unique_array = std::make_unique<int[]>(2);
	std::shared_ptr<Both> shared = std::make_shared<Both>();
	std::weak_ptr<Both> weak = shared;
	std::optional<int> some = 37, none;
	std::optional<std::string> some_string = "optional";
	std::tuple<int, std::string> tuple = {38, "tuple"};
	std::pair<const char *, int> pair = {"pair", 39};
	std::variant<int, double> variant = 40.5;
	std::map<int, int> map = {{41, 42}};
	std::set<char> set = {'s'};
	std::deque<int> deque = {43};
	std::function<int(int)> function = [](int x) { return x + 1; };
	std::complex<double> complex = {44.5, -45.5};
	std::bitset<70> bits = 46;
	std::atomic<int> atomic = 47;
	std::chrono::milliseconds duration{48};
	__int128 wide = -49;
	long double extended = 50.5L;
	char32_t c32 = U'\U0001f600';
	wchar_t wc = L'w';
	char16_t *c8 = nullptr;
	volatile const short cv = 51;
	int last = 52;
};
__attribute__((noinline)) int look(const More &m) { __asm__ volatile("" : : "r"(&m) : "memory"); return m.last; }
int main() { More m; return look(m) == 0; }
