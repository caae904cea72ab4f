// kinds.c: values of C of many kinds, for a comparison with gdb.
#include <complex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uchar.h>
#include <wchar.h>

enum colour { RED, GREEN = 7, BLUE = -2 };
typedef enum { LOW = 1, HIGH = 0x7fffffff } level_t;
typedef unsigned short first_t;
typedef first_t second_t;
typedef second_t third_t;
typedef int (*callback_t)(int, const char *);
typedef struct point {
	int x, y;
} point_t;
struct opaque;
struct node {
	int value;
	struct node *next;
};
struct flags {
	unsigned a : 1, b : 3;
	int c : 5;
	unsigned long long d : 33;
	enum colour e : 4;
	bool f : 1;
	unsigned : 0;
	unsigned g : 7;
};
struct __attribute__((packed)) packed {
	char a;
	int b;
	short c;
	long d;
};
struct packed_bits {
	unsigned a : 7;
	unsigned long long b : 50;
	unsigned c : 30;
} __attribute__((packed));
struct empty {
};
struct flexible {
	int count;
	short items[];
};
struct mixed {
	int tag;
	union {
		int number;
		float real;
		struct {
			short low, high;
		};
	};
	struct {
		long inner;
	} named;
};
union whole {
	unsigned long number;
	unsigned char bytes[8];
	struct {
		unsigned low, high;
	} parts;
};

static int called(int number, const char *text)
{
	return number + !text;
}

struct kinds {
	bool a_bool;
	char a_char;
	signed char a_schar;
	unsigned char a_uchar;
	short a_short;
	unsigned short a_ushort;
	int an_int;
	unsigned an_uint;
	long a_long;
	unsigned long a_ulong;
	long long a_llong;
	unsigned long long a_ullong;
	__int128 an_int128;
	unsigned __int128 an_uint128;
	float a_float;
	double a_double;
	long double a_long_double;
	float a_tiny;
	double a_huge, a_nan, an_infinity, a_zero;
	float _Complex a_complex;
	char16_t a_char16;
	char32_t a_char32;
	wchar_t a_wchar;
	int8_t an_int8;
	uint64_t an_uint64;
	size_t a_size;
	ptrdiff_t a_difference;
	third_t a_typedef_chain;
	enum colour an_enum, a_negative_enum, an_unknown_enum;
	level_t a_level;
	const int a_const;
	volatile short a_volatile;
	const volatile point_t a_const_volatile;
	_Atomic int an_atomic;
	int *a_pointer;
	int **a_pointer_to_pointer;
	void *a_void_pointer;
	const char *a_string;
	struct opaque *an_opaque_pointer;
	point_t *restrict a_struct_pointer;
	callback_t a_function;
	int (*a_pointer_to_array)[3];
	int (*a_table[2])(int, const char *);
	int an_array[3];
	short a_matrix[2][3];
	unsigned char a_cube[2][2][2];
	char a_text[8];
	char a_full_text[4];
	unsigned char some_bytes[4];
	point_t a_struct;
	point_t an_array_of_structs[2];
	struct node a_list;
	struct flags a_flags;
	struct packed a_packed;
	struct packed_bits some_packed_bits;
	struct mixed a_mixed;
	union whole a_union;
	double some_doubles[2];
	enum colour some_enums[3];
	const char *some_strings[2];
	long last __attribute__((aligned(64)));
};

static int numbers[3] = {1, 2, 3};
static int *to_numbers = numbers;
static struct node second = {12, 0};

static struct kinds made = {
	true, 'x', -3, 204, -30005, 60006, -2000000007, 4000000008u, -9, 10ul, -11, 18000000000000000012ull,
	-((__int128)13 << 100), ((unsigned __int128)14 << 120) + 15, 0.1f, -16.25, 1.1L, 1e-40f,
	1.7e300, __builtin_nan(""), -__builtin_inf(), -0.0, 17.5f + 18.25f * I, 0x1019, 0x1f020, 0x21, -22, 23,
	24, -25, 26, GREEN, BLUE, (enum colour)5, HIGH, 27, -28, {29, -30}, 31, &numbers[1], &to_numbers, &second,
	"a string", (struct opaque *)0x1234, 0, called, &numbers, {called, 0}, {33, -34, 35},
	{{36, 37, 38}, {-39, 40, 41}}, {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, "text", {'f', 'u', 'l', 'l'},
	{0, 1, 255, 4}, {42, 43}, {{44, 45}, {-46, 47}}, {11, &second}, {1, 5, -9, 0x1ffffffff, GREEN, true, 99},
	{'p', -48, 49, -50}, {100, 0x2aaaaaaaaaaaa, 0x3fffffff}, {51, {.real = 1.5f}, {52}}, {0x0102030405060708},
	{0.5, -0.25}, {RED, BLUE, 3}, {"one", "two"}, 53,
};

__attribute__((noinline)) long look(struct kinds *k, struct empty *nothing, struct flexible *f, point_t by_value,
				    double real, float small)
{
	__asm__ volatile("" : : "r"(k), "r"(nothing), "r"(f) : "memory");
	return k->last + by_value.x + (long)real + (long)small;
}

// Variables that are not in memory, at a place with a name.
__attribute__((noinline)) long locals(long a, long b, double d)
{
	long sum = a + b, constant = 77, product = a * 3;
	point_t pair = {(int)a, 5};
	unsigned char narrow = (unsigned char)(a + 250);
	const point_t fixed = {8, 9};
	long *to = &sum;

	__asm__ volatile(".globl here\nhere: nop" : : "r"(a), "r"(b) : );
	return sum + constant + product + pair.x + narrow + fixed.y + *to + (long)d;
}

int main(void)
{
	static union {
		struct flexible f;
		char room[32];
	} f = {{3, }};
	struct empty nothing;
	made.a_struct_pointer = &made.a_struct;
	f.f.items[0] = 1;
	return (look(&made, &nothing, &f.f, (point_t){54, 55}, 1.5, 2.5f) + locals(4, 6, 1.25)) == 0;
}
