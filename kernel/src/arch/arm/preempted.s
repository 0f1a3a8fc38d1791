// Where an interrupted task goes on when its time slice is over: on its own stack, to which frame.rs has copied the TrapFrame.
// The interrupt has been handled.
.arm
.cfi_sections .debug_frame
.section .text.trap_preempted, "ax", %progbits
.balign 4
.type trap_preempted, %function
.global trap_preempted
trap_preempted:
    .fnstart
    .unwind_raw 96, 0xb1, 0x0f, 0x8f, 0xff
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_def_cfa sp, 96
    .cfi_offset sp, 52 - 96
    .cfi_offset lr, 60 - 96
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    .cfi_offset r\number, 4 * \number - 96
    .endr
    bl {preempted}
    cpsid aif
    b trap_return_above
    .cfi_endproc
    .fnend
.size trap_preempted, . - trap_preempted
