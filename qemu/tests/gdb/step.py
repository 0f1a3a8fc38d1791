# Steps through trap code, in and out, for $count passages: from a vector in $vectors, or from where a handler returns to, up to the
# first instruction behind. Before each instruction, and before that one, prints what a walk needs: "words ADDRESS HEX" for what
# has changed in $stacks ("START,END"), then "at" and the registers. The first time that a handler begins $depth exceptions deep,
# the function at $probe runs in its place, which reads from where nothing is mapped: an exception that returns.
import gdb

# Not that of the code at hand, which changes on the way.
gdb.execute("set language c")
# It knows no DWARF number for ELR_EL1, and would not step where the rules name it.
gdb.execute("maintenance set dwarf unwinders off")
MASK = 2**64 - 1
BLOCK = 64


def pairs(name):
    text = gdb.convenience_variable(name).string()
    return [tuple(int(number, 16) for number in word.split(",")) for word in text.split()]


def number(expression):
    return int(gdb.parse_and_eval("(unsigned long)" + expression)) & MASK


def word(address, size):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, size).tobytes(), "little")


arm = "aarch64" in gdb.selected_inferior().architecture().name()
STACKS, TRAP, VECTORS = pairs("stacks"), pairs("trap"), pairs("vectors")
NAMES = ["x29", "x30", "x9", "ELR_EL1", "SP_EL0"] if arm else ["rbp", "r10", "r11"]
RETURN = 0xD69F03E0 if arm else 0xCF48
known = {}


def state():
    for start, end in STACKS:
        now = gdb.selected_inferior().read_memory(start, end - start).tobytes()
        for at in range(0, end - start, BLOCK):
            block = now[at : at + BLOCK]
            if known.get(start + at) != block:
                known[start + at] = block
                print("words 0x%x %s" % (start + at, block.hex()))
    values = [number("$" + name) for name in ["pc", "sp"] + NAMES]
    if arm and not number("$cpsr") & 1:
        # SP_EL0 is the one in use, and QEMU's copy of it old.
        values[-1] = values[1]
    print("at", " ".join("0x%x" % value for value in values))
    return values[0]


def is_trap(pc):
    return any(start <= pc < end for start, end in TRAP)


def passage():
    """Whether it ends in a handler, and not where something was interrupted."""
    pc = state()
    while is_trap(pc):
        last = pc
        # On a busy host QEMU sometimes stops before it has run the instruction. None of trap code leads to itself.
        while number("$pc") == last:
            gdb.execute("stepi", to_string=True)
        pc = state()
    return word(last, 4 if arm else 2) != RETURN


vectors = {vector for (vector,) in VECTORS}
stops = {}


def stop_at(address):
    if address not in stops:
        stops[address] = gdb.Breakpoint("*0x%x" % address, internal=True)


for vector in vectors:
    stop_at(vector)
depth, probe = number("$depth"), number("$probe")
open_exceptions = 0
try:
    for _ in range(number("$count")):
        gdb.execute("continue", to_string=True)
        if not is_trap(number("$pc")):
            break
        is_entry = number("$pc") in vectors
        open_exceptions += is_entry
        if not passage():
            continue
        stop_at(number("$x30") if arm else word(number("$sp"), 8))
        if is_entry and open_exceptions == depth:
            depth = 0
            gdb.execute("set $%s = 8" % ("x0" if arm else "rdi"))
            gdb.execute("set $pc = $probe")
except gdb.error as error:
    # The machine has come to its end.
    print("ended: %s" % error)
for stop in stops.values():
    stop.delete()
