# Steps through the next $count handlers in $handlers ("START,END"), from the first instruction to the one that was
# interrupted. Before each instruction prints what a walk needs: "words ADDRESS HEX" for what has changed in $stacks
# ("START,END"), then "at" and the registers. What a handler calls runs up to its return; a handler in there is stepped through, too.
import gdb

# Not that of the code at hand, which changes on the way.
gdb.execute("set language c")
gdb.execute("maintenance set dwarf unwinders off")
MASK = 2**64 - 1
BLOCK = 64
INTERRUPT_RETURN = b"\x48\xcf"


def pairs(name):
    text = gdb.convenience_variable(name).string()
    return [tuple(int(number, 16) for number in word.split(",")) for word in text.split()]


def number(register):
    return int(gdb.parse_and_eval("(unsigned long)$" + register)) & MASK


def read(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


STACKS, HANDLERS = pairs("stacks"), dict(pairs("handlers"))
known = {}


def state():
    for start, end in STACKS:
        now = read(start, end - start)
        for at in range(0, end - start, BLOCK):
            block = now[at : at + BLOCK]
            if known.get(start + at) != block:
                known[start + at] = block
                print("words 0x%x %s" % (start + at, block.hex()))
    print("at", " ".join("0x%x" % number(name) for name in ["rip", "rsp", "rbp"]))


def run_to(address):
    """Up to this address with the stack pointer above what is there now."""
    sp = number("rsp")
    stop = gdb.Breakpoint("*0x%x" % address, internal=True)
    while True:
        gdb.execute("continue", to_string=True)
        if number("rip") == address and number("rsp") > sp:
            break
        if number("rip") in HANDLERS:
            handler()
    stop.delete()


def handler():
    start = number("rip")
    print("handler 0x%x" % start)
    while True:
        state()
        pc = number("rip")
        returns = read(pc, 2) == INTERRUPT_RETURN
        gdb.execute("stepi", to_string=True)
        if returns:
            break
        if not start <= number("rip") < HANDLERS[start]:
            # It has called somebody, or nobody comes back.
            run_to(int.from_bytes(read(number("rsp"), 8), "little"))
    print("back 0x%x" % start)


for start in HANDLERS:
    gdb.Breakpoint("*0x%x" % start, internal=True)
try:
    for _ in range(number("count")):
        gdb.execute("continue", to_string=True)
        handler()
except gdb.error as error:
    # The machine has come to its end.
    print("ended: %s" % error)
