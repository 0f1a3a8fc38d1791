//! Where a walk may say that it does not vouch for the whole list, and why that is no fault of its tables. Whatever is not
//! listed here is a failure.

use unwind::End;

/// Why a walk stopped, without addresses.
#[must_use]
pub fn reason(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Outermost => "outermost function reached",
        End::NotAtBase(_) => "not at the base of a stack",
        End::User(_) => "user code reached",
        End::TrapEndUnknown => "the end of the trap frame is unknown",
        End::NoTables(_) | End::Unusable(_) | End::WrongAbi(_) => "no tables",
        End::NoRow(..) => "no row",
        End::BadPc(_) => "no code at the program counter",
        End::BadReturnAddress(_) => "no code at the return address",
        End::NoCall(_) => "no call before the return address",
        End::CalledElsewhere(..) => "the call leads elsewhere",
        End::CallsUnchecked => "calls not checked",
        End::NoStack(_) => "the stack pointer is in no stack",
        End::Unreadable(_) => "the word to read is outside all stacks",
        End::UnalignedWord(_) => "a word to read is not aligned",
        End::NotAdvancing(_) => "the caller is not above",
        End::Misaligned(_) => "a frame is not aligned",
        End::RegisterLost(_) => "a register is lost",
        End::StackPointerLost => "the stack pointer is lost",
        End::FramePointerLost => "the frame pointer is lost",
        End::NoCfa => "the canonical frame address is unknown",
        End::LinkRegisterLost => "the link register is lost",
        End::TrapFrame(_) => "trap code without rows",
        End::TrapNotAtBase(_) => "a trap frame of user code is not at the base",
        End::OnlyAtCalls(_) => "a row for calls only",
        End::UnprovenRow(_) => "an unproven row",
        End::UnprovenTables => "tables without a proof",
        End::StartInDoubt => "a start that is in doubt",
        End::MayHaveRun => "a task that may have run",
        End::Limit => "the maximum number of frames was reached",
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
        reasons: &["the stack pointer is in no stack"],
        function: "kernel_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function has not set it yet",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack"],
        function: "start_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function of another CPU has not set it yet",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack"],
        function: "start_high",
        only_there: true,
        scenarios: &[],
        why: "the entry function of another CPU has not set it yet",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "<postmortem::arm::entry::Scratch>::load",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A it changes to other modes, and one of them has its own frame pointer",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_entry",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, at the function's last instruction, the interrupted stack pointer is in SP_EL0, which the handler may change",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "trap_return_above",
        only_there: true,
        scenarios: &[],
        why: "on AArch64, at the function's last instruction, only a bit of SPSR_EL1 records where the interrupted stack pointer is",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "it has set the user's stack pointer, or is about to",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "stack_from_memory",
        only_there: false,
        scenarios: &["asm-beyond-proof"],
        why: "it loads its stack pointer from memory",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "kernel::scenario::timer::*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "no code reaches the end of its endless loop: a handler continues there",
    },
    Excuse {
        reasons: &["an unproven row"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "no code reaches the end of its endless loop: a handler continues there",
    },
    Excuse {
        reasons: &["no code at the program counter"],
        function: "",
        only_there: false,
        scenarios: &["null-call", "wild-jump", "call-data"],
        why: "code that went to an address without code may have called it or jumped to it",
    },
    Excuse {
        reasons: &["the end of the trap frame is unknown"],
        function: "",
        only_there: false,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "on AArch64 its end is unknown before it is complete and after it was restored",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack", "no row"],
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "it has set the user's stack pointer, or is about to, and on ARMv7-A never had a caller",
    },
    Excuse {
        reasons: &["no row"],
        function: "stack_from_memory",
        only_there: false,
        scenarios: &["asm-beyond-proof"],
        why: "it loads its stack pointer from memory, which no row can describe",
    },
    Excuse {
        reasons: &["no row"],
        function: "trap_return_above",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A its last instruction has given up the frame, and the interrupted stack pointer is another mode's",
    },
    Excuse {
        reasons: &["no row"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A it has not saved any register yet, and the interrupted stack pointer is another mode's",
    },
    Excuse {
        reasons: &["no row"],
        function: "__udivsi3",
        only_there: true,
        scenarios: &[],
        why: "the division of the toolchain's compiler_builtins for ARMv7-A jumps to a computed address, which the proof does not follow",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack"],
        function: "exception_*",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A it points to the words in which trap code keeps registers first",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack"],
        function: "<postmortem::arm::entry::Scratch>::load",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A it sets the stack pointers of other modes, and uses one of them meanwhile",
    },
    Excuse {
        reasons: &[
            "a row for calls only",
            "no code at the return address",
            "no call before the return address",
            "the call leads elsewhere",
        ],
        function: "task_switch",
        only_there: true,
        scenarios: &[],
        why: "on ARMv7-A no row is proven where its stack pointer has come from an argument",
    },
    Excuse {
        reasons: &["a row for calls only"],
        function: "kernel::scenario::timer::*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A no row is proven after its endless loop, where it continues only after the handler",
    },
    Excuse {
        reasons: &["a row for calls only"],
        function: "stay_*",
        only_there: false,
        scenarios: &["interrupted-places"],
        why: "on ARMv7-A no row is proven after its endless loop, where it continues only after the handler",
    },
    Excuse {
        reasons: &["no code at the return address", "the link register is lost"],
        function: "bad_return_address",
        only_there: false,
        scenarios: &["damaged-return-address"],
        why: "it has overwritten its return address",
    },
    Excuse {
        reasons: &["the stack pointer is in no stack"],
        function: "bad_stack_pointer",
        only_there: false,
        scenarios: &["stray-stack-pointer", "stray-in-handler"],
        why: "it has set it so",
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
