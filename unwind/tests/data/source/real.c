// Ordinary code, for a compiler to choose the frames: recursion, alloca, large frames, many arguments, calls that do
// not return, and on x86-64 a frame that must be realigned. Freestanding, so that no header is needed.

typedef unsigned long word;

struct tree {
	struct tree *left, *right;
	word key;
};

extern void sink(const void *);
extern word source(word);
extern void fail(const char *) __attribute__((noreturn));

// Many registers saved.
word insert(struct tree **root, struct tree *fresh)
{
	word depth = 0;
	while (*root) {
		depth++;
		root = fresh->key < (*root)->key ? &(*root)->left : &(*root)->right;
	}
	*root = fresh;
	return depth;
}

// Recursion with something to do on the way back.
word sum(const struct tree *tree, word (*weight)(word, word), word depth)
{
	if (!tree)
		return 0;
	word left = sum(tree->left, weight, depth + 1);
	word right = sum(tree->right, weight, depth + 1);
	return left + weight(tree->key, depth) + right;
}

// A frame of run-time size: the CFA is based on the frame pointer.
word reversed(const char *text, word length)
{
	char *copy = __builtin_alloca(length);
	for (word i = 0; i < length; i++)
		copy[i] = text[length - 1 - i];
	sink(copy);
	return source(length);
}

// Frames beyond the reach of words of 1 and of 2 bytes.
word page(word seed)
{
	char buffer[5000];
	for (word i = 0; i < sizeof buffer; i++)
		buffer[i] = source(seed + i);
	sink(buffer);
	return buffer[seed % sizeof buffer];
}

word pages(word seed)
{
	char buffer[100000];
	sink(buffer);
	return buffer[seed % sizeof buffer] + page(seed);
}

// Arguments on the stack, and a call that does not come back in the middle.
word many(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j)
{
	if (a == j)
		fail("a is j");
	return source(a + b * c) + many(j, i, h, g, f, e, d, c, b, a - 1);
}

// Nothing to save on the short way: shrink-wrapped.
word wrapped(word n, word *all)
{
	if (n < 2)
		return n;
	word total = 0;
	for (word i = 0; i < n; i++)
		total += source(all[i]) ^ source(total);
	sink(all);
	return total;
}

// A leaf with a frame of its own.
word table(word n)
{
	volatile word squares[12];
	for (word i = 0; i < 12; i++)
		squares[i] = i * i;
	return squares[n % 12];
}

#ifdef __x86_64__
// 32-byte vectors on a stack of 16: gcc realigns through r10 (DRAP).
typedef float vector __attribute__((vector_size(32)));

__attribute__((target("avx"))) float realigned(word n, vector *in)
{
	vector sums = in[0];
	for (word i = 1; i < n; i++) {
		sums += in[i];
		sink(&sums);
	}
	char *more = __builtin_alloca(n);
	sink(more);
	return sums[0] + sums[7];
}

__attribute__((target("avx"))) float realigned_with_arguments(word a, word b, word c, word d, word e, word f,
							       vector g, word h)
{
	vector kept = g;
	sink(&kept);
	word total = source(a + b + c + d + e + f + h);
	sink(&kept);
	return kept[total & 7] + h;
}
#endif

#ifdef __aarch64__
__attribute__((target("branch-protection=pac-ret+b-key"))) word with_key_b(word n)
{
	return source(n) + source(n + 1);
}

// Signed although it saves nothing.
__attribute__((target("branch-protection=pac-ret+leaf"))) word signed_leaf(word n)
{
	return n * 3;
}
#endif
