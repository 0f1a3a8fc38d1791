//! The registers of the system, which QEMU's stub has under numbers of its own.

use anyhow::{Context, Result};

use super::client::Stub;

/// A register of the system: its names, of which QEMU's versions use one or another.
pub(super) type Names = &'static [&'static str];

/// Which system registers the stub has, by its own description.
#[derive(Clone, Debug)]
pub(super) struct System(String);

impl System {
    pub(super) fn of(stub: &mut Stub) -> Result<Self> {
        Ok(Self(stub.document("system-registers.xml")?))
    }

    /// What to ask the stub for these registers.
    pub(super) fn questions(&self, registers: &[Names]) -> Result<Vec<String>> {
        let question = |names: &Names| {
            let number = names.iter().find_map(|name| self.number(name));
            let number = number.with_context(|| {
                format!(
                    "QEMU's gdb stub does not have the register {name}",
                    name = names[0]
                )
            });
            Ok(format!("p{:x}", number?))
        };
        registers.iter().map(question).collect()
    }

    /// Whether the stub has this one.
    pub(super) fn has(&self, name: &str) -> bool {
        self.number(name).is_some()
    }

    fn number(&self, name: &str) -> Option<u32> {
        let (_, rest) = self.0.split_once(&format!("name=\"{name}\""))?;
        let (_, rest) = rest.split_once("regnum=\"")?;
        rest.split_once('"')?.0.parse().ok()
    }
}
