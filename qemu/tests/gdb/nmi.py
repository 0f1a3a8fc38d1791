# Interrupts a busy machine from outside, $count times, at moments that $seed chooses: an instruction of the functions in
# $functions ("ADDRESS,SIZE"), the first of several that any CPU comes to, or $again, which all do; on x86_64, where instructions begin anywhere, so
# many steps after the function's first. There the machine stands still: prints CPUs' callers as gdb finds them, "cpu NUMBER" and
# "frame ADDRESS" lines, "masked" when the CPU cannot be interrupted now: FIQ are masked, or it comes from the last NMI, on
# their stack $nmi_stack, "inner" when the next caller's stack lies lower in memory, which gdb takes for damage and goes no further. Then it has QEMU's monitor raise the interrupt, and lets the kernel report, up to $done.
import random

import gdb


def words(name):
    return gdb.convenience_variable(name).string().split()


arm = "aarch64" in gdb.selected_inferior().architecture().name()
functions = [[int(number, 16) for number in word.split(",")] for word in words("functions")]
done = int(words("done")[0], 16)
again = int(words("again")[0], 16)
begin, end = [int(word, 16) for word in words("nmi_stack")] if not arm else (0, 0)
chosen = random.Random(int(gdb.convenience_variable("seed")))


def number(expression):
    return int(gdb.parse_and_eval(expression)) & (2**64 - 1)


def callers():
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            print("frame 0x%x" % frame.pc())
        if frame.unwind_stop_reason() == gdb.FRAME_UNWIND_INNER_ID:
            print("inner")
        frame = frame.older()


def raw_masked(cpu):
    # PSTATE.F, register 33, without gdb looking at the frame: it fails in trap code, where F is set,
    # because it knows no DWARF number for ELR_EL1.
    thread = gdb.selected_thread().num
    gdb.execute("maintenance packet Hgp1.%x" % (cpu + 1), to_string=True)
    answer = gdb.execute("maintenance packet p21", to_string=True)
    gdb.execute("maintenance packet Hgp1.%x" % thread, to_string=True)
    value = answer.split("received: ")[1].strip().strip('"')
    return int.from_bytes(bytes.fromhex(value), "little") & 0x40 != 0


def run_to(addresses, otherwise=None):
    stops = [gdb.Breakpoint("*0x%x" % address, internal=True) for address in addresses]
    if otherwise is not None:
        # Some functions are never called.
        last = gdb.Breakpoint("*0x%x" % otherwise, internal=True)
        last.ignore_count = 20
        stops.append(last)
    gdb.execute("continue", to_string=True)
    for stop in stops:
        stop.delete()


def run_to_somewhere():
    places = chosen.sample(functions, 6)
    if arm:
        run_to([address + 4 * chosen.randrange(size // 4) for address, size in places], again)
        return
    run_to([address for address, _ in places], again)
    steps = chosen.randrange(25)
    if steps:
        gdb.execute("stepi %d" % steps, to_string=True)


def button_is_down():
    # The GPIO controller's data register, bit 3. QEMU lets go after a while of the machine's time.
    return arm and any(gdb.selected_inferior().read_memory(0xFFFF000009030020, 4).tobytes())


threads = {thread.num - 1: thread for thread in gdb.selected_inferior().threads()}
for moment in range(int(gdb.convenience_variable("count"))):
    run_to_somewhere()
    while button_is_down():
        run_to_somewhere()
    # After what gdb has written without the line's end.
    print("\nmoment %d" % moment)
    # The button goes to one CPU after the other, and the rest go on for a while.
    for cpu in [moment % len(threads)] if arm else sorted(threads):
        print("cpu %d" % cpu)
        if arm and raw_masked(cpu):
            print("masked")
            continue
        threads[cpu].switch()
        if not arm and begin <= number("$rsp") <= end:
            print("masked")
        callers()
    gdb.execute("monitor system_powerdown" if arm else "monitor nmi", to_string=True)
    run_to([done])
    print("done", flush=True)
gdb.execute("kill")
