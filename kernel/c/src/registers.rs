//! Registers as C passes them.

/// `struct unwind_registers`.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    rip: u64,
    rsp: u64,
    rbp: u64,
    is_user: u64,
}

/// `struct unwind_registers`.
#[cfg(target_arch = "aarch64")]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    pc: u64,
    sp: u64,
    x29: u64,
    x30: u64,
    is_user: u64,
}

impl Registers {
    /// The registers with which a walk begins.
    #[cfg(target_arch = "x86_64")]
    pub const fn known(&self) -> postmortem::Registers {
        let mut registers = postmortem::Registers::new(self.rip, self.rsp, self.rbp);
        registers.user = self.is_user != 0;
        registers
    }

    /// The registers with which a walk begins.
    #[cfg(target_arch = "aarch64")]
    pub const fn known(&self) -> postmortem::Registers {
        let mut registers = postmortem::Registers::new(self.pc, self.sp, self.x29, self.x30);
        registers.user = self.is_user != 0;
        registers
    }
}
