//! Where a walk may say that it does not vouch for the whole list, and why that is no fault of its tables. Whatever is not
//! listed here is a failure.

use unwind::End;

/// Why a walk stopped, without addresses.
#[must_use]
pub fn reason(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Outermost => "outermost function reached",
        End::NotAtBase(_) => "the outermost function is not at the base of its stack",
        End::User(_) => "user code reached",
        End::TrapEndUnknown => "the end of the trap frame is unknown",
        End::NoTables(_) | End::Unusable(_) | End::WrongAbi(_) => "no tables",
        End::NoRow(..) => "no row",
        End::BadPc(_) => "no code at the program counter",
        End::BadReturnAddress(_) => "no code at the return address",
        End::NoCall(_) => "no call before the return address",
        End::CalledElsewhere(..) => "the call before the return address has another target",
        End::CallsUnchecked => "calls not checked",
        End::NoStack(_) => "the stack pointer is outside every stack",
        End::Unreadable(_) => "a word to read is outside every stack",
        End::UnalignedWord(_) => "a word to read is not aligned",
        End::NotAdvancing(_) => "the caller's stack pointer is not above the frame",
        End::Misaligned(_) => "a frame is not aligned",
        End::RegisterLost(_) => "a register is lost",
        End::StackPointerLost => "the stack pointer is lost",
        End::FramePointerLost => "the frame pointer is lost",
        End::NoCfa => "the canonical frame address (CFA) is unknown",
        End::LinkRegisterLost => "the link register is lost",
        End::TrapFrame(_) => "trap code without unwind rows",
        End::TrapNotAtBase(_) => "a trap frame of user code is not at the base of a stack",
        End::OnlyAtCalls(_) => "the unwind row is valid only at calls",
        End::UnprovenRow(_) => "an unproven row",
        End::UnprovenTables => "the unwind tables are unproven",
        End::StartInDoubt => "the start of the walk is in doubt",
        End::MayHaveRun => "the task may have run in the meantime",
        End::Limit => "the frame limit was reached",
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
        why: "on ARMv7-A, the function switches to other CPU modes, and FIQ mode has its own frame pointer",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_entry",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, the function leaves the interrupted stack pointer in SP_EL0, which the handler may change",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_return_above",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, only a bit in SPSR_EL1 shows which register holds the interrupted stack pointer at the end of the function",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "the function has set the stack pointer of user code, or is about to set it",
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
        why: "the code after the endless loop runs only because an interrupt handler returns to this code",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "the code after the endless loop runs only because an interrupt handler returns to this code",
    },
    Excuse {
        reasons: &["no code at the program counter"],
        function: "",
        only_there: false,
        scenarios: &["null-call", "wild-jump", "call-data"],
        why: "the CPU is at an address without code; it is unknown whether a call or a jump led to this address",
    },
    Excuse {
        reasons: &["the end of the trap frame is unknown"],
        function: "",
        only_there: false,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "on AArch64, the end of a trap frame is unknown before the frame is complete and after its registers were restored",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack", "no row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "the function has set the stack pointer of user code or is about to set it; on ARMv7-A, the function has no caller",
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
        why: "on ARMv7-A, the frame is already freed at the last instruction, and the interrupted code uses the stack pointer of another CPU mode",
    },
    Excuse {
        reasons: &["no row"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the vector has not saved any register yet, and the interrupted code uses the stack pointer of another CPU mode",
    },
    Excuse {
        reasons: &["no row"],
        function: "__udivsi3",
        only_there: true,
        scenarios: &[],
        why: "division in compiler_builtins for ARMv7-A jumps to a computed address, which the proof cannot follow",
    },
    Excuse {
        reasons: &["the stack pointer is outside every stack"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, the stack pointer points to the area where trap code first saves registers",
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
            "the unwind row is valid only at calls",
            "no code at the return address",
            "no call before the return address",
            "the call before the return address has another target",
        ],
        function: "task_switch",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A, no unwind row is proven after the function takes its stack pointer from an argument",
    },
    Excuse {
        reasons: &["the unwind row is valid only at calls"],
        function: "kernel::scenario::timer::*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A, no unwind row is proven after the endless loop, which only an interrupt handler can leave",
    },
    Excuse {
        reasons: &["the unwind row is valid only at calls"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A, no unwind row is proven after the endless loop, which only an interrupt handler can leave",
    },
    Excuse {
        reasons: &["no code at the return address", "the link register is lost"],
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
