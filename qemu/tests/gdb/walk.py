# Prints gdb's own list of callers, a line each: "frame ADDRESS NAME", the name as the linker knows it. Functions that
# were inlined have no frame of their own, here as in a report, and are left out.
import gdb

frame = gdb.newest_frame()
while frame is not None:
    if frame.type() != gdb.INLINE_FRAME:
        function = frame.function()
        name = function.linkage_name if function is not None else frame.name()
        print("frame 0x%016x %s" % (frame.pc(), name))
    frame = frame.older()
