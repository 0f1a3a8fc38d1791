//! The jumps in a piece of code, as LLVM's objdump prints them: it shares no code with the walk.

use std::ops::Range;
use std::path::Path;
use std::process::Command;

use qemu::setup;

use super::built::target;

/// The jumps in a piece of code.
#[derive(Debug, Default)]
pub struct Jumps {
    /// Where those lead that name an address.
    pub to: Vec<u64>,
    /// Another one jumps to where a register or a word of memory says.
    pub anywhere: bool,
}

impl Jumps {
    /// The jumps in this range of an image's code.
    pub fn of(image: &Path, code: Range<u64>) -> Self {
        let objdump = setup::program("llvm-objdump", "llvm", &target())
            .expect("llvm-objdump is to be had (package llvm)");
        let output = Command::new(objdump)
            .args([
                "--disassemble",
                "--no-show-raw-insn",
                "--no-leading-headers",
            ])
            .arg(format!("--start-address={:#x}", code.start))
            .arg(format!("--stop-address={:#x}", code.end))
            .arg(image)
            .output()
            .expect("llvm-objdump starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "llvm-objdump says {said}");
        let mut jumps = Self::default();
        let mut count = 0;
        for line in text.lines() {
            // "ffffffff80120245: jmp\t0xffffffff80120190 <NAME>"
            let Some((address, instruction)) = line.split_once(':') else {
                continue;
            };
            if u64::from_str_radix(address.trim(), 16).is_err() {
                continue;
            }
            count += 1;
            let instruction = instruction.trim();
            let (mnemonic, operands) = instruction
                .split_once(char::is_whitespace)
                .unwrap_or((instruction, ""));
            if is_jump(mnemonic) {
                match target_of(operands) {
                    Some(target) => jumps.to.push(target),
                    None => jumps.anywhere = true,
                }
            }
        }
        assert!(count > 0, "no code at {code:#x?} of {}", image.display());
        jumps
    }
}

/// Whether this instruction of x86-64 or AArch64 jumps: calls and returns do not.
fn is_jump(mnemonic: &str) -> bool {
    mnemonic.starts_with('j')
        || ["b", "br", "cbz", "cbnz", "tbz", "tbnz"].contains(&mnemonic)
        || mnemonic.starts_with("b.")
        || mnemonic.starts_with("bra")
}

/// The address that a jump names: its last operand, before the symbol there.
fn target_of(operands: &str) -> Option<u64> {
    let operands = operands.split('<').next()?;
    let last = operands
        .rsplit([',', ' ', '\t'])
        .find(|it| !it.is_empty())?;
    u64::from_str_radix(last.strip_prefix("0x")?, 16).ok()
}
