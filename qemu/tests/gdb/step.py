# Runs to a breakpoint's exception and steps through the trap code, in and out. Before each instruction prints the
# registers of a walk, "at PC SP FP LR", and the stacks' ends, "words ADDRESS HEX". Begins at $first and ends at $last:
# where the trap code of AArch64 has no rules, gdb itself fails, with "Recursive internal problem".
import gdb

# Not that of the code at hand, which changes on the way.
gdb.execute("set language c")

arm = "aarch64" in gdb.selected_inferior().architecture().name()
fp = "x29" if arm else "rbp"


def number(expression):
    return int(gdb.parse_and_eval("(unsigned long)" + expression)) & (2**64 - 1)


def state():
    link = number("$x30") if arm else 0
    print("at 0x%x 0x%x 0x%x 0x%x" % (number("$pc"), number("$sp"), number("$" + fp), link))
    for end, size in ENDS:
        words = gdb.selected_inferior().read_memory(end - size, size)
        print("words 0x%x %s" % (end - size, words.tobytes().hex()))


ENDS = [(number("$stack_%d" % index), 0x2000) for index in range(2 if arm else 1)]
last = number("$last")
gdb.Breakpoint("*0x%x" % number("$first"))
gdb.execute("continue", to_string=True)
pc = 0
while pc != last:
    pc = number("$pc")
    name = gdb.execute("info symbol 0x%x" % pc, to_string=True)
    if name.startswith(("exception_", "trap_")):
        state()
        if pc != last:
            gdb.execute("stepi", to_string=True)
    else:
        # The handler's first instruction: go on where it returns to.
        caller = number("$x30") if arm else number("*(unsigned long *)$rsp")
        gdb.Breakpoint("*0x%x" % caller, temporary=True)
        gdb.execute("continue", to_string=True)
gdb.execute("delete")
