// Where an interrupted task goes on when its time slice is over: on its own stack, to which frame.rs has copied the TrapFrame.
// The interrupt has been handled.
.arm
.section .text.trap_preempted, "ax", %progbits
.type trap_preempted, %function
.global trap_preempted
trap_preempted:
    .fnstart
    .unwind_raw 96, 0xb1, 0x0f, 0x8f, 0xff
    bl {preempted}
    cpsid aif
    b trap_return_above
    .fnend
.size trap_preempted, . - trap_preempted
