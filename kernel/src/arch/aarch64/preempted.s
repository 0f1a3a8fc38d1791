// Where an interrupted task goes on instead, when its turn is over: on its own stack, to which frame.rs has moved the TrapFrame.
// The interrupt itself is done.
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
    // So that nothing overwrites the registers that the way back needs.
    msr daifset, #15
    b trap_return_above
    .cfi_endproc
.size trap_preempted, . - trap_preempted
