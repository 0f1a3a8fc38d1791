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
        End::TrapEndUnknown => "it is not known where the trap frame ends",
        End::NoTables(_) | End::Unusable(_) | End::WrongAbi(_) => "no tables",
        End::NoRow(..) => "no row",
        End::BadPc(_) => "no code at the program counter",
        End::BadReturnAddress(_) => "no code at the return address",
        End::NoCall(_) => "no call before the return address",
        End::CalledElsewhere(..) => "the call leads elsewhere",
        End::CallsUnchecked => "calls not checked",
        End::NoStack(_) => "the stack pointer is in no stack",
        End::Unreadable(_) => "no stack at a word to read",
        End::UnalignedWord(_) => "a word to read is not aligned",
        End::NotAdvancing(_) => "the caller is not above",
        End::Misaligned(_) => "a frame is not aligned",
        End::RegisterLost(_) => "a register is lost",
        End::StackPointerLost => "the stack pointer is lost",
        End::FramePointerLost => "the frame pointer is lost",
        End::NoCfa => "no address of a frame",
        End::LinkRegisterLost => "the link register is lost",
        End::TrapFrame(_) => "trap code without rows",
        End::Limit => "as many frames as were asked for",
        End::DamagedTables(_) => "damaged tables",
        _ => "another reason",
    }
}

/// An excuse: for this reason, in a function with this name (empty: any), in these scenarios (none: all).
struct Excuse {
    reason: &'static str,
    function: &'static str,
    /// Only if the machine is in that function, and not in one that it has called.
    only_there: bool,
    scenarios: &'static [&'static str],
    why: &'static str,
}

const EXCUSES: &[Excuse] = &[
    Excuse {
        reason: "the stack pointer is in no stack",
        function: "kernel_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function has not set it yet",
    },
    Excuse {
        reason: "the stack pointer is in no stack",
        function: "start_entry",
        only_there: true,
        scenarios: &[],
        why: "the entry function of another CPU has not set it yet",
    },
    Excuse {
        reason: "the stack pointer is in no stack",
        function: "start_high",
        only_there: true,
        scenarios: &[],
        why: "the entry function of another CPU has not set it yet",
    },
    Excuse {
        reason: "no code at the program counter",
        function: "",
        only_there: false,
        scenarios: &["null-call", "wild-jump", "call-data"],
        why: "who goes to where no code is may have called or jumped",
    },
    Excuse {
        reason: "it is not known where the trap frame ends",
        function: "",
        only_there: false,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "on AArch64 its place is not, before it is complete and after it was restored",
    },
    Excuse {
        reason: "the stack pointer is in no stack",
        function: "enter_user",
        only_there: true,
        scenarios: &["user-call", "user-read", "user-interrupted"],
        why: "it has set the user's stack pointer",
    },
    Excuse {
        reason: "no row",
        function: "stack_from_memory",
        only_there: false,
        scenarios: &["asm-beyond-proof"],
        why: "it takes its stack pointer from memory, which no row can say",
    },
    Excuse {
        reason: "no code at the return address",
        function: "bad_return_address",
        only_there: false,
        scenarios: &["damaged-return-address"],
        why: "it has overwritten its return address",
    },
    Excuse {
        reason: "the stack pointer is in no stack",
        function: "bad_stack_pointer",
        only_there: false,
        scenarios: &["stray-stack-pointer", "stray-in-handler"],
        why: "it has set it so",
    },
];

/// Why this is excused, if it is. `is_there`: the walk vouches for no frame but that of the function itself.
#[must_use]
pub fn find(reason: &str, function: &str, is_there: bool, scenario: &str) -> Option<&'static str> {
    let fits = |pattern: &str, text: &str| pattern.is_empty() || pattern == text;
    let mut excuses = EXCUSES.iter();
    let excuse = excuses.find(|excuse| {
        excuse.reason == reason
            && fits(excuse.function, function)
            && (is_there || !excuse.only_there)
            && (excuse.scenarios.is_empty() || excuse.scenarios.contains(&scenario))
    });
    excuse.map(|excuse| excuse.why)
}
