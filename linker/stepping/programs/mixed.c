/* Functions with frames of all kinds that compilers make. The program needs no C library, and does the same in each run. */

typedef unsigned long word;
typedef unsigned char byte;

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

volatile word sink;
volatile word seed = 12345;

void *memcpy(void *to, const void *from, word count) {
  byte *out = to;
  const byte *in = from;
  while (count--) {
    *out++ = *in++;
    __asm__ volatile("");
  }
  return to;
}

void *memset(void *to, int value, word count) {
  byte *out = to;
  while (count--) {
    *out++ = (byte)value;
    __asm__ volatile("");
  }
  return to;
}

void *memmove(void *to, const void *from, word count) { return memcpy(to, from, count); }

__attribute__((noreturn)) void abort(void);
void abort(void) {
  for (;;)
    __builtin_trap();
}

#ifdef __arm__
// Only generated code refers to these functions. Link-time optimization runs earlier, and would remove them.
__attribute__((used)) void __aeabi_unwind_cpp_pr0(void) {}
__attribute__((used)) void __aeabi_unwind_cpp_pr1(void) {}
void __aeabi_memcpy(void *to, const void *from, word count) { memcpy(to, from, count); }
void __aeabi_memset(void *to, word count, int value) { memset(to, value, count); }
void __aeabi_memclr(void *to, word count) { memset(to, 0, count); }
void __aeabi_memcpy4(void *to, const void *from, word count) { memcpy(to, from, count); }
void __aeabi_memclr4(void *to, word count) { memset(to, 0, count); }
void __aeabi_memclr8(void *to, word count) { memset(to, 0, count); }
#endif

void __stack_chk_fail(void) { abort(); }
word __stack_chk_guard = 0x1234;
void __cyg_profile_func_enter(void *, void *) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *, void *) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void *one, void *other) { (void)one, (void)other; }
void __cyg_profile_func_exit(void *one, void *other) { (void)one, (void)other; }

APART static word next(void) {
  word number = seed;
  number ^= number << 13;
  number ^= number >> 7;
  number ^= number << 17;
  return seed = number;
}

APART static word fibonacci(word number) { return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2); }

APART static void touch(void *place) { __asm__ volatile("" : : "r"(place) : "memory"); }

/* A frame of a size that is known only when the function runs, in a loop. */
APART static word vla(word count) {
  word sum = 0;
  for (word turn = 1; turn <= count; turn++) {
    word room[turn * 3];
    for (word at = 0; at < turn * 3; at++)
      room[at] = at * turn + next() % 2;
    touch(room);
    sum += room[turn];
  }
  return sum;
}

APART static word grows(word count) {
  word sum = 0;
  for (word turn = 0; turn < count; turn++) {
    word *room = __builtin_alloca(16 + (next() & 31));
    room[0] = turn;
    touch(room);
    sum += room[0] + fibonacci(turn & 3);
  }
  return sum;
}

APART static word large(word number) {
  volatile byte room[20000];
  for (word at = 0; at < sizeof room; at += 997)
    room[at] = (byte)(at + number);
  touch((void *)room);
  return room[997 * (number % 20)];
}

struct aligned {
  word words[8] __attribute__((aligned(64)));
};

APART static word realigned(word number) {
  struct aligned one;
  for (int at = 0; at < 8; at++)
    one.words[at] = number + at;
  touch(&one);
  return one.words[number & 7] + fibonacci(number & 3);
}

/* A realigned frame of unknown size, with arguments on the stack. */
APART static word realigned_vla(word a, word b, word c, word d, word e, word f, word g, word h, word count) {
  struct aligned one[count & 3 ? count & 3 : 1];
  for (word at = 0; at < (count & 3); at++)
    one[at].words[at & 7] = a + b + at;
  touch(one);
  return one[0].words[0] + c + d + e + f + g + h;
}

APART static word many(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j) {
  word sum = next() & 7;
  return a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13 + g * 17 + h * 19 + i * 23 + j * 29 + sum;
}

APART static word variadic(int count, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, count);
  word sum = 0;
  for (int at = 0; at < count; at++)
    sum += __builtin_va_arg(list, word);
  __builtin_va_end(list);
  return sum + (next() & 1);
}

APART static double floats(double a, double b, double c) {
  double keep[6];
  for (int at = 0; at < 6; at++)
    keep[at] = a * at + b;
  touch(keep);
  fibonacci(3);
  return keep[2] * c + keep[5];
}

APART static word choose(word which, word number) {
  switch (which) {
  case 0: return next();
  case 1: return fibonacci(number & 7);
  case 2: return vla(number & 3);
  case 3: {
    byte *room = __builtin_alloca((number & 63) + 1);
    room[0] = 3;
    touch(room);
    return room[0] + next();
  }
  case 4: return number * 3 + which;
  case 5: return many(1, 2, 3, 4, 5, 6, 7, 8, number, which);
  case 6: return variadic(9, 1ul, 2ul, 3ul, 4ul, 5ul, 6ul, 7ul, 8ul, number);
  case 7: return large(number);
  case 8: return number / (which + 1);
  case 11: return realigned(number);
  case 12: return grows(number & 7);
  default: return 9;
  }
}

typedef word (*operation)(word);

APART static word twice(word number) { return number * 2; }
APART static word squared(word number) { return number * number + (next() & 1); }
APART static word tail(word number) { return squared(number + 1); }
static operation volatile operations[] = {twice, squared, tail, fibonacci, realigned, large, vla};

APART static word by_pointer(word which, word number) { return operations[which % 7](number % 10) + 1; }
APART static word by_tail(word which, word number) { return operations[which % 7](number % 10); }

/* An interpreter with computed jumps. */
APART static word interpret(const byte *code) {
  static const void *const labels[] = {&&stop, &&push, &&add, &&call, &&grow, &&again};
  word stack[16], top = 0, turns = 0;
  goto *labels[*code++];
push:
  stack[top++] = *code++;
  goto *labels[*code++];
add:
  top--;
  stack[top - 1] += stack[top];
  goto *labels[*code++];
call:
  stack[top - 1] = by_pointer(stack[top - 1], stack[top - 1]);
  goto *labels[*code++];
grow : {
  word *room = __builtin_alloca(32);
  room[0] = stack[top - 1];
  touch(room);
  stack[top - 1] += room[0];
  goto *labels[*code++];
}
again:
  if (turns++ < 3) {
    code -= *code;
    goto *labels[*code++];
  }
  code++;
  goto *labels[*code++];
stop:
  return stack[top - 1];
}

#if defined(__clang__) && !defined(__x86_64__)
#define NO_JUMPS
#endif
#ifndef NO_JUMPS
static void *buffer[8];

APART static void leave(word number) {
  if (number == 0)
    __builtin_longjmp(buffer, 1);
  leave(number - 1);
  sink = number;
}

APART static word jumps(word number) {
  volatile word kept = number;
  if (__builtin_setjmp(buffer) == 0) {
    leave(number & 7);
    return 0;
  }
  return kept + fibonacci(2);
}
#else
APART static word jumps(word number) { return number; }
#endif

APART static void fail(word number) __attribute__((noreturn, cold));
APART static void fail(word number) {
  sink = number;
  abort();
}

APART static word checked(const word *numbers, word index, word count) {
  if (__builtin_expect(index >= count, 0))
    fail(index);
  word value = numbers[index];
  if (__builtin_expect(value == 77777, 0))
    fail(value);
  return value;
}

#if !defined(__clang__) && !defined(NO_NESTED)
APART static word apply(word (*function)(word), word number) { return function(number) + 1; }

APART static word nested(word number) {
  word total = number;
  __attribute__((noinline)) word inner(word more) {
    total += more;
    return total + fibonacci(more & 3);
  }
  word sum = 0;
  for (word turn = 0; turn < 3; turn++)
    sum += inner(turn);
  return sum + total;
}
#else
APART static word nested(word number) { return number; }
#endif

#if defined(__x86_64__) && !defined(NO_MS)
/* The other calling convention, which keeps more registers. */
__attribute__((ms_abi)) APART static word other(word a, word b) { return a * b + next() % 3; }
__attribute__((ms_abi)) APART static word calls_other(word a, word b, word c, word d, word e) { return other(a, b) + other(c, d) + fibonacci(e & 3); }
APART static word foreign(word number) { return calls_other(number, 2, 3, number, 5) + 1; }
#else
APART static word foreign(word number) { return number; }
#endif

APART static word wide(word number) {
  word a = next(), b = next(), c = next(), d = next(), e = next(), f = next(), g = next(), h = next(), i = next(), j = next();
  word sum = fibonacci(number & 3);
  if (number & 1)
    sum += a ^ b ^ c;
  else if (number & 2)
    return sum + d;
  return sum + a + b * c + d - e + f * g + h - i + j;
}

APART static word loops(word count) {
  word sum = 0;
  for (word one = 0; one < count; one++) {
    for (word two = 0; two < 3; two++) {
      if ((one ^ two) == 5)
        continue;
      sum += choose(one, two + one);
      if (sum == 0x123456789)
        return many(1, 2, 3, 4, 5, 6, 7, 8, 9, one);
    }
  }
  return sum;
}

int main(void) {
  static const byte code[] = {1, 5, 1, 7, 2, 3, 4, 1, 9, 3, 2, 5, 6, 3, 0};
  static word numbers[4] = {3, 1, 4, 1};
  word sum = loops(13);
  sum += interpret(code);
  for (word turn = 0; turn < 8; turn++) {
    sum += by_pointer(turn, turn) + by_tail(turn, turn + 3);
    sum += checked(numbers, turn & 3, 4) + wide(turn);
  }
  sum += jumps(5) + nested(4) + foreign(3);
  sum += realigned_vla(1, 2, 3, 4, 5, 6, 7, 8, 2);
  sum += (word)floats(1.5, 2.5, (double)(sum & 3));
  sink = sum;
  return 0;
}
