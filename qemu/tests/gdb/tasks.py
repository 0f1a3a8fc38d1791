# For each task that does not run: "task NUMBER", and its callers as walk.py prints them. gdb is given the stack pointer that
# the task has stored, and the instruction where it goes on. The tasks are an array at $tasks, each of $size bytes, the
# first words of which are its state and that stack pointer; $count of them.
import os

import gdb

WALK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "walk.py")
# A task that has ended has left a stack, too: symbols.rs of the kernel has the number.
ENDED = 5

gdb.execute("set language c")


def number(expression):
    return int(gdb.parse_and_eval("(unsigned long)" + expression)) & (2**64 - 1)


tasks, size, count = (number(name) for name in ("$tasks", "$size", "$count"))
before = [number("$sp"), number("$pc")]
resume = number("&task_resume")
for index in range(count):
    state, context = (number("*(unsigned long *)0x%x" % (tasks + index * size + at)) for at in (0, 8))
    if context == 0 or state & 0xFF == ENDED:
        continue
    gdb.execute("set $sp = 0x%x" % context)
    gdb.execute("set $pc = 0x%x" % resume)
    print("task %d" % index)
    gdb.execute("source " + WALK)
gdb.execute("set $sp = 0x%x" % before[0])
gdb.execute("set $pc = 0x%x" % before[1])
