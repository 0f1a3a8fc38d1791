/* A kernel in C: freestanding, with hot, cold and initialization code in sections of their own. */

static volatile unsigned long ticks;

static inline unsigned long twice(unsigned long value)
{
    ticks += value;
    return value * 2;
}

__attribute__((noinline, section(".text.hot.interrupt"))) unsigned long interrupt(unsigned long number)
{
    return twice(number) + ticks;
}

__attribute__((noinline, section(".text.unlikely.fail"))) unsigned long fail(unsigned long code)
{
    ticks = code;
    return interrupt(code) + 1;
}

__attribute__((noinline, section(".init.text"))) unsigned long set_up(unsigned long memory)
{
    if (memory == 0)
        return fail(7) + 1;
    return interrupt(memory) + 1;
}

__attribute__((noreturn)) void _start(void)
{
    set_up(ticks);
    for (;;)
        interrupt(1);
}
