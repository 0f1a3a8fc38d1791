//! Where a walk may say that it does not vouch for the whole list, and why that is no fault of its tables. Whatever is not
//! listed here is a failure.

use unwind::End;

/// Why a walk stopped, without addresses.
#[must_use]
pub fn reason(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Outermost => "outermost function reached",
        End::NotAtBase(_) => "the frame of the outermost function is not at the base of its stack",
        End::User(_) => "user code reached",
        End::TrapEndUnknown => "the end of the trap frame is unknown",
        End::NoTables(_) | End::Unusable(_) | End::WrongAbi(_) => "no tables",
        End::NoRow(..) => "no row",
        End::BadPc(_) => "the program counter is outside all known code",
        End::BadReturnAddress(_) => "the return address is outside all known code",
        End::NoCall(_) => "the instruction before the return address is not a call",
        End::CalledElsewhere(..) => {
            "the call before the return address does not call the frame's function"
        }
        End::CallsUnchecked => "calls not checked",
        End::NoStack(_) => "the stack pointer is outside every stack",
        End::Unreadable(_) => "the unwinder needs a word that is outside every stack",
        End::UnalignedWord(_) => "the word that the unwinder must read is at a misaligned address",
        End::NotAdvancing(_) => {
            "the caller's stack pointer is not above the called function's stack pointer"
        }
        End::Misaligned(_) => "the canonical frame address (CFA) is misaligned",
        End::RegisterLost(_) => "the value of a register is unknown",
        End::StackPointerLost => "the value of the stack pointer is unknown",
        End::FramePointerLost => "the value of the frame pointer is unknown",
        End::NoCfa => "the canonical frame address (CFA) is unknown",
        End::LinkRegisterLost => "the value of the link register is unknown",
        End::TrapFrame(_) => "the layout of the trap frame is unknown",
        End::TrapNotAtBase(_) => {
            "the trap frame of user code does not end at the upper end of a declared stack"
        }
        End::OnlyAtCalls(_) => "the function's unwind row is valid only at call instructions",
        End::UnprovenRow(_) => "an unproven row",
        End::UnprovenTables => "the unwind tables contain no proof that their rows are correct",
        End::StartInDoubt => "the first frame of the backtrace is in doubt",
        End::MayHaveRun => "the task may have run during the backtrace",
        End::Limit => "the backtrace reached the maximum number of frames",
        End::DamagedTables(_) => "damaged tables",
        _ => "another reason",
    }
}

/// An excuse: for one of these reasons, in a function with this name (empty: any; with a star: that begins so), in these scenarios (none: all).
struct Excuse {
    reasons: &'static [&'static str],
    function: &'static str,
    /// Only if the machine is in that function, and not in one that it has called.
    only_there: bool,
    scenarios: &'static [&'static str],
    why: &'static str,
}

const EXCUSES: &[Excuse] = &[
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "kernel_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function has not set the stack pointer yet",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "start_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function of a secondary CPU has not set the stack pointer yet",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "start_high",
        only_there: true,
        scenarios: &[],
        why: "the entry function of a secondary CPU has not set the stack pointer yet",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "<postmortem::arm::entry::Scratch>::load",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the function switches to FIQ mode, which has its own frame pointer",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_entry",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, the function leaves the stack pointer of the interrupted code in the register SP_EL0, and the exception handler may change SP_EL0",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_return_above",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, a bit in SPSR_EL1 selects whether the function returns to the stack pointer in SP_EL0 or in SP_EL1, and no unwind row can describe this choice",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "the function switches from the kernel's stack to the stack of user code",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "stack_from_memory",
        only_there: false,
        scenarios: &["asm-beyond-proof"],
        why: "the function loads its stack pointer from memory",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "kernel::scenario::timer::*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "the CPU reaches the code after the function's endless loop only through an interrupt handler, so the unwind rows of this code are not proven",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "the CPU reaches the code after the function's endless loop only through an interrupt handler, so the unwind rows of this code are not proven",
    },
    Excuse {
        reasons: &["the program counter is outside all known code"],
        function: "",
        only_there: false,
        scenarios: &["null-call", "wild-jump", "call-data"],
        why: "the CPU called or jumped to an address without code, and the unwinder cannot determine which of the two happened",
    },
    Excuse {
        reasons: &["the end of the trap frame is unknown"],
        function: "",
        only_there: false,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "on AArch64, the trap frame does not contain all registers at this instruction, so the address of its end is unknown",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack", "no row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "the function switches from the kernel's stack to the stack of user code; on ARMv7-A, no unwind row describes the function, because the function never returns to a caller",
    },
    Excuse {
        reasons: &["no row"],
        function: "stack_from_memory",
        only_there: false,
        scenarios: &["asm-beyond-proof"],
        why: "the function loads its stack pointer from memory, which no unwind row can describe",
    },
    Excuse {
        reasons: &["no row"],
        function: "trap_return_above",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, after the function releases its frame, the stack pointer of the interrupted code is only in a register of another CPU mode",
    },
    Excuse {
        reasons: &["no row"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the exception vector has not saved any registers yet, and the stack pointer of the interrupted code is in a register of another CPU mode",
    },
    Excuse {
        reasons: &["no row"],
        function: "__udivsi3",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the division routine of compiler_builtins jumps to a computed address, which the proof of the unwind rows cannot follow",
    },
    Excuse {
        reasons: &["no row"],
        function: "__udivmodsi4",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the division routine of compiler_builtins jumps to a computed address, which the proof of the unwind rows cannot follow",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the stack pointer of the exception vector points to a small save area for registers, which is not a stack",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "<postmortem::arm::entry::Scratch>::load",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the function switches to other CPU modes to set the stack pointers of these modes",
    },
    Excuse {
        reasons: &[
            "the function's unwind row is valid only at call instructions",
            "the return address is outside all known code",
            "the instruction before the return address is not a call",
            "the call before the return address does not call the frame's function",
        ],
        function: "task_switch",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the function loads the stack pointer from an argument, so the unwind rows of the instructions after the load are not proven",
    },
    Excuse {
        reasons: &["the function's unwind row is valid only at call instructions"],
        function: "kernel::scenario::timer::*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A, the CPU reaches the code after the function's endless loop only through an interrupt handler, so the unwind rows of this code are not proven",
    },
    Excuse {
        reasons: &["the function's unwind row is valid only at call instructions"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A, the CPU reaches the code after the function's endless loop only through an interrupt handler, so the unwind rows of this code are not proven",
    },
    Excuse {
        reasons: &[
            "the return address is outside all known code",
            "the value of the link register is unknown",
        ],
        function: "bad_return_address",
        only_there: false,
        scenarios: &["damaged-return-address"],
        why: "the function has overwritten its own return address",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "bad_stack_pointer",
        only_there: false,
        scenarios: &["stray-stack-pointer", "stray-in-handler"],
        why: "the function has set a wrong stack pointer",
    },
];

/// Why this is excused, if it is. `is_there`: the walk vouches for no frame but that of the function itself.
#[must_use]
pub fn find(reason: &str, function: &str, is_there: bool, scenario: &str) -> Option<&'static str> {
    let fits = |pattern: &str, text: &str| match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern.is_empty() || pattern == text,
    };
    let mut excuses = EXCUSES.iter();
    let excuse = excuses.find(|excuse| {
        excuse.reasons.contains(&reason)
            && fits(excuse.function, function)
            && (is_there || !excuse.only_there)
            && (excuse.scenarios.is_empty() || excuse.scenarios.contains(&scenario))
    });
    excuse.map(|excuse| excuse.why)
}
