//! Instructions byte by byte, as GNU as writes them, and x86-64 calls of a whole program, compared with another decoder.

extern crate std;

use std::vec::Vec;
use std::{format, println};

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use object::{Object, ObjectSection};

use super::*;
use crate::{aarch64, s390x, x86_64};

/// How the end of some bytes can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calls {
    direct: Option<u64>,
    indirect: bool,
}

const NONE: Calls = Calls {
    direct: None,
    indirect: false,
};
const INDIRECT: Calls = Calls {
    direct: None,
    indirect: true,
};

fn direct(target: u64) -> Calls {
    Calls {
        direct: Some(target),
        indirect: false,
    }
}

fn read<I: Instructions>(bytes: &[u8], end: u64) -> Calls {
    Calls {
        direct: I::direct_call(bytes, end),
        indirect: I::is_indirect_call(bytes, end),
    }
}

fn x86(bytes: &[u8]) -> Calls {
    read::<x86_64::Registers>(bytes, 0x1000)
}

fn a64(word: u32) -> Calls {
    read::<aarch64::Registers>(&word.to_le_bytes(), 0x1000)
}

#[test]
fn every_reading_of_an_x86_call() {
    assert_eq!(x86(&[0xe8, 0xfb, 0xff, 0xff, 0xff]), direct(0xffb));
    assert_eq!(x86(&[0x90, 0xe8, 0x10, 0, 0, 0]), direct(0x1010));
    let indirect: &[&[u8]] = &[
        &[0xff, 0xd0],                         // call rax
        &[0x41, 0xff, 0xd3],                   // call r11
        &[0x3e, 0xff, 0xd7],                   // notrack call rdi
        &[0x3e, 0x41, 0xff, 0xd4],             // notrack call r12
        &[0xff, 0x13],                         // call [rbx]
        &[0x41, 0xff, 0x14, 0x24],             // call [r12]
        &[0xff, 0x14, 0xc7],                   // call [rdi+rax*8]
        &[0xff, 0x14, 0xe8],                   // call [rax+rbp*8]
        &[0xff, 0x53, 0x18],                   // call [rbx+24]
        &[0x41, 0xff, 0x54, 0x24, 0x18],       // call [r12+24]
        &[0xff, 0x15, 0x10, 0, 0, 0],          // call [rip+16]
        &[0xff, 0x93, 0, 1, 0, 0],             // call [rbx+256]
        &[0x41, 0xff, 0x94, 0x24, 0, 1, 0, 0], // call [r12+256]
        &[0xff, 0x94, 0x24, 0, 1, 0, 0],       // call [rsp+256]
        &[0xff, 0x14, 0x25, 0, 0x10, 0, 0],    // call [0x1000]
        &[0xff, 0x14, 0xc5, 0, 0x10, 0, 0],    // call [rax*8+0x1000]
    ];
    for bytes in indirect {
        assert_eq!(x86(bytes), INDIRECT, "{bytes:x?}");
        for cut in 1..bytes.len() {
            // Without its first bytes it is none, but for prefixes.
            let rest = &bytes[cut..];
            assert_eq!(
                x86(rest).indirect,
                bytes[..cut].iter().all(|b| *b != 0xff),
                "{rest:x?}"
            );
        }
    }
    // What could be a distance, an address or both.
    let both = x86(&[0xff, 0x94, 0xe8, 0, 1, 0, 0]);
    assert_eq!((both.direct, both.indirect), (Some(0x1100), true));
}

#[test]
fn other_x86_instructions_are_no_calls() {
    let others: &[&[u8]] = &[
        &[],
        &[0xe8],
        &[0xff],
        &[0xd0],
        &[0xff, 0xe0],                // jmp rax
        &[0xff, 0xc0],                // inc eax
        &[0xff, 0xf0],                // push rax
        &[0xff, 0xd8],                // far call of a register: none
        &[0xff, 0x1b],                // call far [rbx]
        &[0x48, 0xff, 0x5b, 0x08],    // rex.w call far [rbx+8]
        &[0xff, 0x1d, 0x10, 0, 0, 0], // call far [rip+16]
        &[0xe9, 0, 0, 0, 0],          // jmp
        &[0xff, 0x25, 0, 0, 0, 0],    // jmp [rip]
        &[0x0f, 0x84, 0x10, 0, 0, 0], // je
        &[0xff, 0x53],                // half a call
        &[0xff, 0x14],
        &[0xff, 0x94, 0x24, 0, 0],
        &[0xe8, 0, 0, 0],
        &[0xe8, 0, 0, 0, 0, 0x90], // a call, and one byte more
        &[0xc3],
    ];
    for bytes in others {
        assert_eq!(x86(bytes), NONE, "{bytes:x?}");
    }
}

/// This program's own code: every call that another decoder finds is found from its end.
#[test]
fn x86_calls_of_a_program_are_found() {
    let program = std::env::current_exe().expect("this program has a path");
    let data = std::fs::read(program).expect("it can be read");
    let file = object::File::parse(&*data).expect("it is an object file");
    if file.architecture() != object::Architecture::X86_64 {
        println!("this machine is no x86-64: there is nothing to compare");
        return;
    }
    let text = file.section_by_name(".text").expect("there is code");
    let (bytes, address) = (text.data().expect("its bytes"), text.address());
    let (mut calls, mut others, mut alike) = (0_u32, 0_u32, 0_u32);
    for instruction in Decoder::with_ip(64, bytes, address, DecoderOptions::NONE) {
        let next = instruction.next_ip();
        let found = read::<x86_64::Registers>(&bytes[..(next - address) as usize], next);
        let what = format!("{:#x}", instruction.ip());
        if instruction.mnemonic() == Mnemonic::Call {
            calls += 1;
            match instruction.op0_kind() {
                OpKind::NearBranch64 => {
                    assert_eq!(found.direct, Some(instruction.near_branch64()), "{what}");
                }
                _ => assert!(found.indirect, "{what}"),
            }
        } else {
            others += 1;
            alike += u32::from(found != NONE);
        }
    }
    println!("{calls} calls; of {others} other instructions {alike} end like one");
    assert!(calls > 10_000 && alike < others / 200);
}

#[test]
fn x86_jumps() {
    let jump = |bytes: &[u8]| x86_64::Registers::jump(bytes, 0x1000);
    assert_eq!(
        jump(&[0xe9, 0xfb, 0xff, 0xff, 0xff]),
        Some((Jump::To(0x1000), 5))
    );
    assert_eq!(jump(&[0xeb, 0xfe, 0x90]), Some((Jump::To(0x1000), 1)));
    assert_eq!(jump(&[0x74, 0x10]), Some((Jump::To(0x1012), 1)));
    assert_eq!(
        jump(&[0x0f, 0x8f, 0, 0x10, 0, 0]),
        Some((Jump::To(0x2006), 6))
    );
    assert_eq!(jump(&[0xe8, 0, 0, 0, 0]), Some((Jump::Call(0x1005), 5)));
    for anywhere in [[0xff, 0xe0], [0xff, 0x25], [0xff, 0x24], [0xff, 0x6b]] {
        assert_eq!(jump(&anywhere), Some((Jump::Anywhere, 1)));
    }
    for other in [
        &[][..],
        &[0xff],
        &[0xff, 0xd0],
        &[0xff, 0xe8],
        &[0x90],
        &[0xe9, 0, 0, 0],
    ] {
        assert_eq!(jump(other), None, "{other:x?}");
    }
}

#[test]
fn a64_calls_and_jumps() {
    assert_eq!(a64(0x9400_0001), direct(0x1000), "bl .+4");
    assert_eq!(a64(0x97ff_ffff), direct(0xff8), "bl .-4");
    let blr = [
        0xd63f_0000,
        0xd63f_03c0,
        0xd63f_081f,
        0xd73f_0a11,
        0xd73f_0c3f,
    ];
    for word in blr {
        assert_eq!(a64(word), INDIRECT, "{word:#x}");
        assert_eq!(
            read::<aarch64::Registers>(&u32::to_le_bytes(word), 0x1002),
            NONE
        );
    }
    // b, br, braa, ret, retaa, nop, svc, udf
    for word in [
        0x1400_0001,
        0xd61f_0200,
        0xd71f_0a11,
        0xd65f_03c0,
        0xd65f_0bff,
        0xd503_201f,
        0xd400_0001,
        0,
    ] {
        assert_eq!(a64(word), NONE, "{word:#x}");
    }
    let jump = |word: u32| aarch64::Registers::jump(&word.to_le_bytes(), 0x1000);
    assert_eq!(jump(0x17ff_ffff), Some((Jump::To(0xffc), 4)), "b .-4");
    assert_eq!(jump(0x5400_0040), Some((Jump::To(0x1008), 4)), "b.eq .+8");
    assert_eq!(
        jump(0xb5ff_ffe3),
        Some((Jump::To(0xffc), 4)),
        "cbnz x3, .-4"
    );
    assert_eq!(
        jump(0x3607_fff1),
        Some((Jump::To(0xffc), 4)),
        "tbz w17, #0, .-4"
    );
    assert_eq!(jump(0xd61f_0200), Some((Jump::Anywhere, 4)), "br x16");
    assert_eq!(
        jump(0xd71f_0a11),
        Some((Jump::Anywhere, 4)),
        "braa x16, x17"
    );
    for other in [0x9400_0001, 0xd63f_0000, 0xd65f_03c0, 0xd503_201f] {
        assert_eq!(jump(other), None, "{other:#x}");
    }
}

#[test]
fn s390x_calls_and_jumps() {
    let calls = |bytes: &[u8]| read::<s390x::Registers>(bytes, 0x1000);
    assert_eq!(
        calls(&[0xc0, 0xe5, 0, 0, 0, 8]),
        direct(0xffa + 16),
        "brasl %r14, .+16"
    );
    assert_eq!(
        calls(&[0xa7, 0xe5, 0xff, 0xf8]),
        direct(0xffc - 16),
        "bras %r14, .-16"
    );
    assert_eq!(calls(&[0x0d, 0xe1]), INDIRECT, "basr %r14, %r1");
    assert_eq!(calls(&[0x4d, 0xe0, 0x10, 0]), INDIRECT, "bas %r14, 0(%r1)");
    assert_eq!(calls(&[0x0d, 0xe0]), NONE, "basr %r14, 0");
    assert_eq!(calls(&[0x07, 0xfe]), NONE, "br %r14");
    assert_eq!(calls(&[0xc0, 0xf4, 0, 0, 0, 8]), NONE, "jg .+16");
    assert_eq!(calls(&[0xa7, 0xf4, 0xff, 0xf8]), NONE, "j .-16");
    let jump = |bytes: &[u8]| s390x::Registers::jump(bytes, 0x1000);
    assert_eq!(jump(&[0xc0, 0xf4, 0, 0, 0, 8]), Some((Jump::To(0x1010), 6)));
    assert_eq!(jump(&[0xa7, 0x84, 0xff, 0xff]), Some((Jump::To(0xffe), 4)));
    assert_eq!(jump(&[0x07, 0xf1]), Some((Jump::Anywhere, 2)));
    for other in [
        &[0x07, 0xfe][..],
        &[0xc0, 0xe5, 0, 0, 0, 8],
        &[0xa7, 0xe5, 0xff, 0xf8],
    ] {
        assert_eq!(jump(other), None, "{other:x?}");
    }
}

#[test]
fn what_ends_code() {
    let x86: Vec<(&[u8], bool)> = std::vec![
        (&[0xc3], true),
        (&[0x0f, 0x0b], true),
        (&[0xe9, 0, 0, 0, 0], true),
        (&[0xff, 0xe0], true),
        (&[0x90], false),
        (&[0x74, 0x10, 0x90], false),
        (&[], false),
    ];
    for (bytes, ends) in x86 {
        assert_eq!(x86_64::Registers::ends(bytes), ends, "{bytes:x?}");
    }
    for (word, ends) in [
        (0x1400_0000, true),
        (0x9400_0000, true),
        (0xd65f_03c0, true),
        (0xd61f_0000, true),
        (0xd420_0020, true),
        (0, true),
        (0x5400_0040, false),
        (0xd503_201f, false),
    ] {
        assert_eq!(
            aarch64::Registers::ends(&u32::to_le_bytes(word)),
            ends,
            "{word:#x}"
        );
    }
    assert!(s390x::Registers::ends(&[0x07, 0xfe]));
    assert!(!s390x::Registers::ends(&[0xa7, 0x84, 0, 8]));
}
