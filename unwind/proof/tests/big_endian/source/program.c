// Ordinary code of every kind of frame, for a compiler to choose: recursion, a frame of run-time size, arguments on the stack,
// calls by pointer, in the last place, and leaves. It ends with the sum of what it has computed, as its status.

typedef unsigned long word;

#define APART __attribute__((noinline, noclone))

// Keeps the compiler from computing it all beforehand.
static volatile word seed = 3;

APART word leaf(word n)
{
	return n * 5 + seed;
}

// Overwrites what belongs to callers although it calls nobody.
APART word leaf_that_saves(word n)
{
#ifdef __s390x__
	// GCC keeps what it saves of a leaf's in registers of floating point.
	__asm__ volatile("lghi %%r11, 77\n\tlghi %%r14, 78\n\tagr %0, %%r11" : "+r"(n) : : "r6", "r7", "r11", "r14");
#elif defined(__arm__)
	__asm__ volatile("mov lr, #77\n\tadd %0, %0, lr" : "+r"(n) : : "r4", "r8", "lr");
#else
	__asm__ volatile("mov x30, #77\n\tadd %0, %0, x30" : "+r"(n) : : "x19", "x30");
#endif
	return n;
}

// A leaf with a frame of its own.
APART word table(word n)
{
	volatile word squares[12];
	for (word i = 0; i < 12; i++)
		squares[i] = i * i;
	return squares[n % 12];
}

APART word recursion(word n)
{
	if (n == 0)
		return leaf_that_saves(n);
	word below = recursion(n - 1);
	return below + leaf(n) + recursion(n / 3);
}

// A frame of run-time size: the frame address is counted from the frame pointer.
APART word reversed(const char *text, word length)
{
	char *copy = __builtin_alloca(length);
	for (word i = 0; i < length; i++)
		copy[i] = text[length - 1 - i];
	return leaf(copy[0]) + leaf_that_saves(copy[length - 1]);
}

// More arguments than registers.
APART word many(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j)
{
	if (a == 0)
		return leaf(b + j);
	return leaf(a + b * c) + many(a - 1, i, h, g, f, e, d, c, b, j);
}

// Beyond the reach of short words.
APART word large(word n)
{
	volatile char page[5000];
	page[n] = 1;
	return page[n] + table(n);
}

// A call in the last place.
APART word last(word n)
{
	return leaf(n + 1);
}

static word (*volatile by_pointer[])(word) = {leaf, leaf_that_saves, table, large, last};

int start(void)
{
	word sum = recursion(5) + reversed("backwards", 9 + (seed & 1)) + many(3, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	for (word i = 0; i < sizeof by_pointer / sizeof *by_pointer; i++)
		sum += by_pointer[i](i);
	return sum % 100;
}
