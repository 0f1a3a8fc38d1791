// Executes instructions one by one. Reads words from standard input; writes to standard output the addresses of the registers'
// memory and of the executed instruction, and then for each word what it has changed.

typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned char u8;

// Each register, x0 to x30 and sp, contains an address in this memory.
#define MEMORY 0x5550000000
#define SIZE 0x40000
#define WINDOW 0x3000
#define FIRST (MEMORY + SIZE / 2)
#define DISTANCE 64

struct context {
    u64 before[32], after[32], failed, stack;
} context;

struct result {
    u64 failed, registers[32];
    // Bytes of the window around the registers' addresses that have changed: the first, and the one after the last.
    u64 start, end;
    u8 bytes[64];
} result;

void execute(struct context *);
extern u32 executed[];
extern char execution_failed[];

__asm__("\
    .pushsection .executed, \"awx\", %progbits\n\
    .balign 4096\n\
execute:\n\
    sub sp, sp, #96\n\
    stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n\
    stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n\
    mov x1, sp\n str x1, [x0, #520]\n\
    ldr x1, [x0, #248]\n mov sp, x1\n\
    .irp at, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28\n\
    ldr x\\at, [x0, #8 * \\at]\n\
    .endr\n\
    .irp at, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 30, 0\n\
    ldr x\\at, [x0, #8 * \\at]\n\
    .endr\n\
executed:\n\
    nop\n\
    msr tpidr_el0, x0\n\
    ldr x0, =context + 256\n\
    .irp at, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\
    str x\\at, [x0, #8 * \\at]\n\
    .endr\n\
    .irp at, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n\
    str x\\at, [x0, #8 * \\at]\n\
    .endr\n\
    mov x1, sp\n str x1, [x0, #248]\n\
    mrs x1, tpidr_el0\n str x1, [x0]\n\
    mov x1, #0\n\
leave:\n\
    ldr x0, =context\n\
    str x1, [x0, #512]\n\
    ldr x1, [x0, #520]\n mov sp, x1\n\
    ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n\
    ldp x25, x26, [sp, #48]\n ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n\
    add sp, sp, #96\n\
    ret\n\
execution_failed:\n\
    mov x1, #1\n\
    b leave\n\
    .ltorg\n\
    .popsection\n\
restore:\n\
    mov x8, #139\n\
    svc #0\n");

void restore(void);

static u64 call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    register u64 x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register u64 x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

static void write_all(const void *from, u64 count) {
    while (count > 0) {
        u64 written = call(64, 1, (u64)from, count, 0, 0, 0);
        from = (const u8 *)from + written;
        count -= written;
    }
}

// The instruction has raised an exception: continues behind it.
static void handle(int signal, void *information, u8 *interrupted) {
    const int PROGRAM_COUNTER = 440;
    *(u64 *)(interrupted + PROGRAM_COUNTER) = (u64)execution_failed;
}

static u8 stack[65536];

static void set_up(void) {
    struct { void *start; u64 flags, size; } other = {stack, 0, sizeof stack};
    call(132, (u64)&other, 0, 0, 0, 0, 0);
    // SA_SIGINFO, SA_RESTORER, SA_ONSTACK, SA_NODEFER
    struct { void *handler; u64 flags; void *restorer; u64 mask; } action = {handle, 0x4c000004, restore, 0};
    for (int signal = 4; signal <= 11; signal++)
        if (signal != 9)
            call(134, signal, (u64)&action, 0, 8, 0, 0);
    // Readable and writable; private, at this address, anonymous.
    call(222, MEMORY, SIZE, 3, 0x32, -1, 0);
}

static u8 pattern(u64 offset) {
    return offset * 167 + (offset >> 8) * 13 + 7;
}

void _start(void) {
    set_up();
    u8 *window = (u8 *)(FIRST - WINDOW / 2);
    static u8 untouched[WINDOW];
    for (u64 offset = 0; offset < WINDOW; offset++)
        window[offset] = untouched[offset] = pattern(offset);
    u64 head[2] = {FIRST, (u64)executed};
    write_all(head, sizeof head);
    u32 word;
    while (call(63, 0, (u64)&word, sizeof word, 0, 0, 0) == sizeof word) {
        *(volatile u32 *)executed = word;
        __asm__ volatile("ic ivau, %0\n dsb ish\n isb" :: "r"(executed) : "memory");
        for (int number = 0; number < 32; number++)
            context.before[number] = FIRST + DISTANCE * number;
        execute(&context);
        result.failed = context.failed;
        for (int number = 0; number < 32; number++)
            result.registers[number] = context.after[number];
        result.start = result.end = 0;
        for (u64 offset = 0; offset < WINDOW; offset += 8) {
            if (*(u64 *)(window + offset) == *(u64 *)(untouched + offset))
                continue;
            for (u64 at = offset; at < offset + 8; at++)
                if (window[at] != untouched[at]) {
                    if (result.end == 0)
                        result.start = at;
                    result.end = at + 1;
                }
        }
        for (u64 at = 0; at < sizeof result.bytes && result.start + at < WINDOW; at++)
            result.bytes[at] = window[result.start + at];
        for (u64 at = result.start & ~7; at < result.end; at += 8)
            *(u64 *)(window + at) = *(u64 *)(untouched + at);
        write_all(&result, sizeof result);
    }
    call(94, 0, 0, 0, 0, 0, 0);
}
