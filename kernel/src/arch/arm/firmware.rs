//! Calls of the firmware: "Power State Coordination Interface", 5.1, by the "SMC Calling Convention" of 32 bits. The crate `smccc`, which
//! AArch64 uses, has instructions that are no Thumb code.

use core::arch::asm;

use portable::device_tree::Conduit;

const CPU_ON: u32 = 0x8400_0003;
const SYSTEM_OFF: u32 = 0x8400_0008;
const SYSTEM_RESET: u32 = 0x8400_0009;
const SUCCESS: u32 = 0;

/// Turns the power off. Returns if the firmware does not.
pub fn system_off(conduit: Conduit) {
    call(conduit, SYSTEM_OFF, [0; 3]);
}

/// Resets the machine. Returns if the firmware does not.
pub fn system_reset(conduit: Conduit) {
    call(conduit, SYSTEM_RESET, [0; 3]);
}

/// Starts a CPU by its affinity at this physical address, which gets the number `index`. Returns whether the firmware does.
pub fn cpu_on(conduit: Conduit, mpidr: u64, entry: u64, index: u64) -> bool {
    let arguments = [mpidr, entry, index].map(|word| word as u32);
    call(conduit, CPU_ON, arguments) == SUCCESS
}

/// In ARM code, as the instructions are encoded: assemblers know them only for processors that must have them.
#[instruction_set(arm::a32)]
fn call(conduit: Conduit, function: u32, [first, second, third]: [u32; 3]) -> u32 {
    let result;
    macro_rules! call {
        ($instruction:literal) => {
            // SAFETY: the firmware keeps all registers but these, and memory, as the convention says; a CPU that it starts is accounted for by
            // who asks for that.
            unsafe {
                asm!(
                    $instruction,
                    inout("r0") function => result,
                    inout("r1") first => _,
                    inout("r2") second => _,
                    inout("r3") third => _,
                    options(nostack)
                );
            }
        };
    }
    match conduit {
        Conduit::Hypervisor => call!(".inst 0xe1400070"),
        Conduit::SecureMonitor => call!(".inst 0xe1600070"),
    }
    result
}
