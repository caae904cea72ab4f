// broken.cpp: strings and pointers that refer to no memory, as those of objects that are not constructed yet.
#include <memory>
#include <string>
#include <vector>

struct Broken {
	std::string text = "a text that is too long for the object";
	std::vector<int> numbers = {1, 2, 3};
	std::unique_ptr<int> owner = std::make_unique<int>(4);
	std::string whole = "whole";
	int last = 5;
};

__attribute__((noinline)) int look(const Broken &b)
{
	__asm__ volatile("" : : "r"(&b) : "memory");
	return b.last;
}

int main()
{
	alignas(Broken) static char room[sizeof(Broken)];
	Broken *b = new (room) Broken;
	// The addresses of the first two; the length of the third is that of its object.
	*reinterpret_cast<void **>(&b->text) = reinterpret_cast<void *>(0x10);
	reinterpret_cast<void **>(&b->numbers)[0] = reinterpret_cast<void *>(0x7ffffffff000);
	reinterpret_cast<void **>(&b->numbers)[1] = reinterpret_cast<void *>(0x7ffffffff00c);
	*reinterpret_cast<void **>(&b->owner) = reinterpret_cast<void *>(0xdead000000000000);
	return look(*b) != 5;
}
