//! Makes tiny images of a few instructions, to test how the runner handles what the kernel does not do: resets, hangs, other
//! exit statuses.

use std::path::{Path, PathBuf};

use qemu::machine::Arch;

/// What an image does.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Writes these bytes to the serial line.
    Print(&'a [u8]),
    /// Ends QEMU with this exit status, odd on x86_64.
    Exit(u8),
    /// Switches the machine off, by ACPI or PSCI.
    SwitchOff,
    /// Resets the machine: a triple fault, or PSCI's SYSTEM_RESET.
    Reset,
    /// Tells QEMU's device `pvpanic` that it has panicked; x86_64 only.
    Panic,
    /// Does nothing, for ever.
    Hang,
    /// Writes to the serial line, for ever.
    Flood,
    /// Waits for a byte on the second serial line; x86_64 only.
    Await,
    /// Writes this many bytes of `HURRIED` to the serial line, each after 128 looks at a line that has not become free, as some kernels do: the
    /// line loses such a byte; x86_64 only.
    Hurry(u32),
    /// Loops for ever, without waiting for interrupts.
    Spin,
    /// The same in system management mode, of the machine `q35`; x86_64 only.
    Manage,
}

/// The bytes that `Act::Hurry` repeats.
pub const HURRIED: std::ops::Range<u8> = b' '..b'~';

/// The address to which images are loaded.
const fn base(arch: Arch) -> u64 {
    match arch {
        Arch::X86_64 => 0x10_0000,
        Arch::Aarch64 => 0x4020_0000,
    }
}

/// Writes an image that does all of `acts` into `folder`.
pub fn image(folder: &Path, arch: Arch, acts: &[Act]) -> PathBuf {
    let mut code: Vec<u8> = acts
        .iter()
        .flat_map(|act| machine_code(arch, *act))
        .collect();
    code.extend(machine_code(arch, Act::Hang));
    let path = folder.join(format!("tiny-{arch}.elf"));
    std::fs::write(&path, elf(arch, &code)).expect("an image can be written");
    path
}

fn machine_code(arch: Arch, act: Act) -> Vec<u8> {
    match arch {
        Arch::X86_64 => x86(act),
        Arch::Aarch64 => aarch64(act)
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect(),
    }
}

/// Code for 32-bit protected mode without paging, in which PVH starts a kernel.
fn x86(act: Act) -> Vec<u8> {
    match act {
        // mov dx, 0x3f8; then mov al, byte; out dx, al for each
        Act::Print(bytes) => {
            let set_port = [0x66, 0xba, 0xf8, 0x03];
            set_port
                .into_iter()
                .chain(bytes.iter().flat_map(|byte| [0xb0, *byte, 0xee]))
                .collect()
        }
        // mov al, status / 2; out 0xf4, al
        Act::Exit(status) => vec![0xb0, status >> 1, 0xe6, 0xf4],
        // The chipset's register for power states is where SeaBIOS places it.
        // mov dx, 0x604; mov ax, 0x2000; out dx, ax
        Act::SwitchOff => vec![0x66, 0xba, 0x04, 0x06, 0x66, 0xb8, 0x00, 0x20, 0x66, 0xef],
        // push 0; push 0; lidt [esp]; ud2: an interrupt table without entries. The stack is in low memory.
        Act::Reset => vec![
            0xbc, 0x00, 0x70, 0x00, 0x00, // mov esp, 0x7000
            0x6a, 0x00, 0x6a, 0x00, 0x0f, 0x01, 0x1c, 0x24, 0x0f, 0x0b,
        ],
        // mov dx, 0x505; mov al, 1; out dx, al
        Act::Panic => vec![0x66, 0xba, 0x05, 0x05, 0xb0, 0x01, 0xee],
        // cli; hlt; jmp to the hlt
        Act::Hang => vec![0xfa, 0xf4, 0xeb, 0xfd],
        // mov dx, 0x3f8; mov al, 'x'; out dx, al; jmp to the out
        Act::Flood => vec![0x66, 0xba, 0xf8, 0x03, 0xb0, b'x', 0xee, 0xeb, 0xfd],
        // mov dx, 0x2fd; in al, dx; test al, 1; jz to the in
        Act::Await => vec![0x66, 0xba, 0xfd, 0x02, 0xec, 0xa8, 0x01, 0x74, 0xfb],
        Act::Hurry(count) => {
            let mut code = vec![0xb3, HURRIED.start, 0xb9]; // mov bl, first; mov ecx, count
            code.extend(count.to_le_bytes());
            code.extend([
                0x66,
                0xba,
                0xfd,
                0x03,
                0xbe,
                0x80,
                0,
                0,
                0, // mov dx, 0x3fd; mov esi, 128
                0xec,
                0xa8,
                0x20,
                0x75,
                0x03, // in al, dx; test al, 0x20; jnz behind the loop
                0x4e,
                0x75,
                0xf8, // dec esi; jnz to the in
                0x66,
                0xba,
                0xf8,
                0x03,
                0x88,
                0xd8,
                0xee, // mov dx, 0x3f8; mov al, bl; out dx, al
                0xfe,
                0xc3,
                0x80,
                0xfb,
                HURRIED.end, // inc bl; cmp bl, end
                0x75,
                0x02,
                0xb3,
                HURRIED.start, // jne behind the next; mov bl, first
                0x49,
                0x75,
                0xdc, // dec ecx; jnz to the mov dx
            ]);
            code
        }
        // jmp to itself
        Act::Spin => vec![0xeb, 0xfe],
        // Has the chipset show the memory of that mode (Q35's register SMRAM, D_OPEN), writes a jump to itself where a processor
        // enters the mode, as firmware has set it up, and asks for that by port 0xb2.
        Act::Manage => vec![
            0xb8, 0x9c, 0x00, 0x00, 0x80, // mov eax, 0x8000009c
            0x66, 0xba, 0xf8, 0x0c, 0xef, // mov dx, 0xcf8; out dx, eax
            0x66, 0xba, 0xfd, 0x0c, 0xb0, 0x4a,
            0xee, // mov dx, 0xcfd; mov al, 0x4a; out dx, al
            0x66, 0xc7, 0x05, 0x00, 0x80, 0x0a, 0x00, 0xeb,
            0xfe, // mov word ptr [0xa8000], 0xfeeb
            0x30, 0xc0, 0xe6, 0xb2, // xor al, al; out 0xb2, al
        ],
    }
}

fn aarch64(act: Act) -> Vec<u32> {
    const MOVZ_W0: u32 = 0x5280_0000;
    const HVC: u32 = 0xd400_0002;
    // movz w0, #function; movk w0, #0x8400, lsl #16; hvc #0
    let psci = |function: u32| vec![MOVZ_W0 | function << 5, 0x72b0_8000, HVC];
    match act {
        Act::Panic => panic!("no test has this device on AArch64"),
        Act::Manage => panic!("AArch64 has no such mode"),
        // movz x1, #0x0900, lsl #16; then movz w0, #byte; strb w0, [x1] for each
        Act::Print(bytes) => {
            let print = |byte: &u8| [MOVZ_W0 | u32::from(*byte) << 5, 0x3900_0020];
            [0xd2a1_2001]
                .into_iter()
                .chain(bytes.iter().flat_map(print))
                .collect()
        }
        // A block of { ADP_Stopped_ApplicationExit, status } below the image, its address in x1, SYS_EXIT in w0
        Act::Exit(status) => vec![
            0xd2a8_0401,                          // movz x1, #0x4020, lsl #16
            0xd100_4021,                          // sub x1, x1, #16
            0xd280_04c2,                          // movz x2, #0x26
            0xf2a0_0042,                          // movk x2, #0x2, lsl #16
            0xd280_0003 | u32::from(status) << 5, // movz x3, #status
            0xa900_0c22,                          // stp x2, x3, [x1]
            MOVZ_W0 | 0x18 << 5,                  // movz w0, #0x18
            0xd45e_0000,                          // hlt #0xf000
        ],
        Act::SwitchOff => psci(8),
        Act::Reset => psci(9),
        Act::Flood | Act::Await | Act::Hurry(_) => {
            panic!("no test does {act:?} on AArch64")
        }
        // b .
        Act::Hang | Act::Spin => vec![0x1400_0000],
    }
}

/// An ELF file with this code, and on x86_64 the note that makes QEMU take it for a kernel.
fn elf(arch: Arch, code: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PROGRAM_HEADER: u64 = 56;
    const CODE_AT: u64 = 0x1000;
    let entry = base(arch);
    // A Xen note of type 18, PHYS32_ENTRY.
    let mut note = Vec::new();
    for word in [4u32, 4, 18, u32::from_le_bytes(*b"Xen\0"), entry as u32] {
        note.extend(word.to_le_bytes());
    }
    let note_at = HEADER + 2 * PROGRAM_HEADER;
    let machine: u16 = match arch {
        Arch::X86_64 => object::elf::EM_X86_64.0,
        Arch::Aarch64 => object::elf::EM_AARCH64.0,
    };

    let mut file = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    file.extend([2u16, machine].into_iter().flat_map(u16::to_le_bytes));
    file.extend(1u32.to_le_bytes());
    file.extend([entry, HEADER, 0].into_iter().flat_map(u64::to_le_bytes));
    file.extend(0u32.to_le_bytes());
    let sizes = [HEADER as u16, PROGRAM_HEADER as u16, 2, 64, 0, 0];
    file.extend(sizes.into_iter().flat_map(u16::to_le_bytes));
    // type, flags; offset, virtual address, physical address, size in file, size in memory, alignment
    let length = code.len() as u64;
    let segments: [(u32, u32, [u64; 6]); 2] = [
        (1, 5, [CODE_AT, entry, entry, length, length, 0x1000]),
        (
            4,
            4,
            [note_at, 0, 0, note.len() as u64, note.len() as u64, 4],
        ),
    ];
    for (kind, flags, rest) in segments {
        file.extend([kind, flags].into_iter().flat_map(u32::to_le_bytes));
        file.extend(rest.into_iter().flat_map(u64::to_le_bytes));
    }
    file.extend(note);
    file.resize(CODE_AT as usize, 0);
    file.extend(code);
    file
}
