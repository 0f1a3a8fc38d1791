// Where an interrupted task goes on when its time slice is over: on its own stack, to which frame.rs has copied the TrapFrame.
// The interrupt has been handled.
.section .text.trap_preempted, "ax", %progbits
.type trap_preempted, %function
.global trap_preempted
trap_preempted:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_def_cfa sp, 304
    .cfi_offset sp, 248 - 304
    .cfi_offset x30, 256 - 304
    .cfi_offset x29, 232 - 304
    bl {preempted}
    // From here on an exception would overwrite ELR_EL1 and SPSR_EL1, which the return needs.
    msr daifset, #15
    b trap_return_above
    .cfi_endproc
.size trap_preempted, . - trap_preempted
