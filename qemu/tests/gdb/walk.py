# Prints gdb's own list of callers, a line each: "frame ADDRESS NAME", the name as the linker knows it. Before it, a line
# for each function that the frame's code belongs to, innermost first and the frame's own last: "source LINE FILE NAME".
import gdb

frame = gdb.newest_frame()
while frame is not None:
    function = frame.function()
    name = function.linkage_name if function is not None else frame.name()
    place = frame.find_sal()
    file = place.symtab.fullname().replace(" ", "_") if place.symtab is not None else "?"
    print("source %d %s %s" % (place.line, file, name))
    if frame.type() != gdb.INLINE_FRAME:
        print("frame 0x%016x %s" % (frame.pc(), name))
    frame = frame.older()
