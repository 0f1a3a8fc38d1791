//! Trap code: the code that the CPU enters at an exception or interrupt, with unwind rules for every instruction. Manual: volume 3, chapter
//! 7 "Interrupt and Exception Handling".

/// Defines the entries of exceptions and interrupts: `exception_entries!(handler, 64)` defines entries for vectors 0 to 63.
///
/// Each entry saves a [`TrapFrame`](crate::x86_64::TrapFrame) and calls `handler`, an `extern "C" fn(&mut TrapFrame)`. When the handler
/// returns, the interrupted code continues. The addresses of the entries are in the array of words `exception_entries`, by vector.
///
/// The kernel must be compiled without a red zone, because a frame is written directly below the interrupted stack pointer. It must not use
/// x87, MMX, SSE or AVX registers (soft float), or its handler must save them, because the frame does not contain them. The target
/// `x86_64-unknown-none` meets both conditions.
///
/// ```no_run
/// # #[cfg(all(target_arch = "x86_64", target_os = "none"))]
/// postmortem::exception_entries!(exception, 64);
///
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     if postmortem::probe::recover(frame) {
///         return;
///     }
///     // Interrupts, NMIs, and exceptions that the kernel can handle; for all others `POSTMORTEM.fault(frame)`.
/// }
/// ```
#[macro_export]
macro_rules! exception_entries {
    ($handler:path, $count:literal) => {
        ::core::arch::global_asm!(
            $crate::exception_entries_text!(),
            handler = sym $handler,
            count = const $count,
        );
    };
}

/// Defines descriptor tables and entries for a kernel without exception handlers: `exceptions!(TABLES, POSTMORTEM)` defines the
/// `x86_64::Tables` `TABLES`, and entries of all exceptions that call `Postmortem::exception` of `POSTMORTEM`. A third
/// argument is the number of CPUs; the default is one.
///
/// The kernel must have no interrupts. Each CPU calls `TABLES.load(cpu)` at its start.
///
/// With several CPUs, a report stops the CPUs for which [`Platform::is_online`](crate::Platform::is_online) returns true, with the NMI that
/// [`Platform::send_nmi`](crate::Platform::send_nmi) sends. Without these two methods the other CPUs continue during the report.
#[macro_export]
macro_rules! exceptions {
    ($tables:ident, $postmortem:path) => {
        $crate::exceptions!($tables, $postmortem, 1);
    };
    ($tables:ident, $postmortem:path, $cpus:literal) => {
        $crate::exception_entries!(postmortem_exception, 32);

        extern "C" fn postmortem_exception(frame: &mut $crate::TrapFrame) {
            $postmortem.exception(frame);
        }

        unsafe extern "C" {
            /// The entries' addresses, which `exception_entries!` defines.
            static exception_entries: [u64; 32];
        }

        static $tables: $crate::x86_64::Tables<$cpus> =
            $crate::x86_64::Tables::new(&raw const exception_entries);
    };
}

/// The text of [`exception_entries!`].
///
/// Its macros are known to all assembly of the crate that uses it, so they have names that other assembly hardly uses.
#[doc(hidden)]
#[macro_export]
macro_rules! exception_entries_text {
    () => {
        r#"
# One entry for each exception. They differ only in the error code, which the CPU pushes for some exceptions. The stack, from
# the top: ss, rsp, rflags, cs, rip (pushed by the CPU), error code, vector, registers: a TrapFrame. The unwind rules describe, for
# every instruction, where the interrupted rip, rsp and rbp are.

.macro postmortem_exception_entry vector:req, has_code:req
.type exception_\vector, @function
exception_\vector:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_def_cfa rsp, 40 + 8 * \has_code
    .cfi_offset rip, -40
    .cfi_offset rsp, -16
    .if \has_code == 0
    push 0
    .cfi_adjust_cfa_offset 8
    .endif
    push \vector
    .cfi_adjust_cfa_offset 8
    jmp trap_entry
    .cfi_endproc
.size exception_\vector, . - exception_\vector
.pushsection .rodata.exception_entries, "a", @progbits
    .quad exception_\vector
.popsection
.endm

.macro postmortem_interrupt_entry vector:req
    postmortem_exception_entry \vector, 0
.endm

.macro postmortem_save register:req
    push \register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
.endm

.macro postmortem_restore register:req
    pop \register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
.endm

.section .rodata.exception_entries, "a", @progbits
.balign 8
.global exception_entries
exception_entries:

.section .text.exception_entries, "ax", @progbits
# Those with an error code: volume 3, table 7-1 "Protected-Mode Exceptions and Interrupts".
.irp vector, 0, 1, 2, 3, 4, 5, 6, 7
    postmortem_exception_entry \vector, 0
.endr
    postmortem_exception_entry 8, 1
    postmortem_exception_entry 9, 0
.irp vector, 10, 11, 12, 13, 14
    postmortem_exception_entry \vector, 1
.endr
    postmortem_exception_entry 15, 0
    postmortem_exception_entry 16, 0
    postmortem_exception_entry 17, 1
.irp vector, 18, 19, 20
    postmortem_exception_entry \vector, 0
.endr
    postmortem_exception_entry 21, 1
.irp vector, 22, 23, 24, 25, 26, 27, 28
    postmortem_exception_entry \vector, 0
.endr
    postmortem_exception_entry 29, 1
    postmortem_exception_entry 30, 1
    postmortem_exception_entry 31, 0
# Interrupts.
.set .Lvector, 32
.rept {count} - 32
    .altmacro
    postmortem_interrupt_entry %.Lvector
    .noaltmacro
    .set .Lvector, .Lvector + 1
.endr

.type trap_entry, @function
trap_entry:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_def_cfa rsp, 56
    .cfi_offset rip, -40
    .cfi_offset rsp, -16
    postmortem_save rax
    postmortem_save rbx
    postmortem_save rcx
    postmortem_save rdx
    postmortem_save rsi
    postmortem_save rdi
    postmortem_save rbp
    postmortem_save r8
    postmortem_save r9
    postmortem_save r10
    postmortem_save r11
    postmortem_save r12
    postmortem_save r13
    postmortem_save r14
    postmortem_save r15
    # cr2, the address of a page fault, before another one overwrites it. It is pushed twice to keep the stack aligned: the CPU
    # has aligned it, and the frame has 24 words then.
    mov rax, cr2
    push rax
    .cfi_adjust_cfa_offset 8
    push rax
    .cfi_adjust_cfa_offset 8
    cld
    mov rdi, rsp
    call {handler}
    add rsp, 16
    .cfi_adjust_cfa_offset -16
    postmortem_restore r15
    postmortem_restore r14
    postmortem_restore r13
    postmortem_restore r12
    postmortem_restore r11
    postmortem_restore r10
    postmortem_restore r9
    postmortem_restore r8
    postmortem_restore rbp
    postmortem_restore rdi
    postmortem_restore rsi
    postmortem_restore rdx
    postmortem_restore rcx
    postmortem_restore rbx
    postmortem_restore rax
    add rsp, 16
    .cfi_adjust_cfa_offset -16
    iretq
    .cfi_endproc
.size trap_entry, . - trap_entry
"#
    };
}
