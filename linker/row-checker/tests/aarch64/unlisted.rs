//! Registers and bytes that rare instructions write, against the manual's page of each instruction (chapter C6). llvm-objdump may not
//! know their extensions.

use std::collections::BTreeSet;

use row_checker::instruction::{Effect, Flow, Register, Size};

use super::inputs::{decode, words};

/// The register with the address in all texts.
const BASE: Register = 9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stores {
    Nothing,
    /// A number of bytes at the address.
    Bytes(u32),
    /// A number of bytes at a distance from the address.
    At(i32, u32),
    /// A number of bytes that depends on the processor.
    Anything,
}
use Stores::{Anything, At, Bytes, Nothing};

/// Compares what each instruction writes.
fn compare(name: &str, extensions: &str, cases: &[(&str, &[Register], Stores)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, ..)| *text).collect();
    let words = words(name, &format!("{extensions}\n{}", texts.join("\n")));
    assert_eq!(words.len(), cases.len());
    for (word, (text, registers, stores)) in words.into_iter().zip(cases) {
        let decoded = decode(0, word).unwrap_or_else(|| panic!("{text} ({word:08x}): not decoded"));
        assert_eq!(decoded.flow, Flow::Next, "{text}");
        let (mut written, mut stored) = (BTreeSet::new(), Nothing);
        for effect in decoded.effects {
            match effect {
                Effect::Set(register, _) => {
                    written.insert(register);
                }
                Effect::Store {
                    base, offset, size, ..
                } => {
                    assert_eq!(base, BASE, "{text}");
                    stored = match (size, stored) {
                        (Size::Bytes(count), Nothing) if offset == 0 => Bytes(count),
                        (Size::Bytes(count), Nothing) => At(offset, count),
                        // The second register of a pair.
                        (Size::Bytes(count), Bytes(first)) => {
                            assert_eq!(offset, first.cast_signed(), "{text}");
                            Bytes(first + count)
                        }
                        (Size::Bytes(count), At(at, first)) => {
                            assert_eq!(offset, at + first.cast_signed(), "{text}");
                            At(at, first + count)
                        }
                        _ => Anything,
                    };
                }
                Effect::SystemCall(_) | Effect::ComparesStackPointer(_) => panic!("{text}"),
            }
        }
        assert_eq!(
            written,
            registers.iter().copied().collect(),
            "registers that {text} writes"
        );
        assert_eq!(stored, *stores, "bytes that {text} writes");
    }
}

#[test]
fn atomic_instructions_write_the_register_of_the_old_value() {
    compare(
        "lse",
        ".arch_extension lse\n.arch_extension lsfe",
        &[
            ("swp x1, x2, [x9]", &[2], Bytes(8)),
            ("swpb w1, w2, [x9]", &[2], Bytes(1)),
            ("swph w1, w2, [x9]", &[2], Bytes(2)),
            ("ldadd w1, w2, [x9]", &[2], Bytes(4)),
            ("stadd x1, [x9]", &[], Bytes(8)),
            ("cas x1, x2, [x9]", &[1], Bytes(8)),
            ("cash w1, w2, [x9]", &[1], Bytes(2)),
            ("casp x4, x5, x6, x7, [x9]", &[4, 5], Bytes(16)),
            ("casp w4, w5, w6, w7, [x9]", &[4, 5], Bytes(8)),
            ("ldfadd h1, h2, [x9]", &[], Bytes(2)),
            ("ldfadd s1, s2, [x9]", &[], Bytes(4)),
            ("ldfadd d1, d2, [x9]", &[], Bytes(8)),
            ("ldbfadd h1, h2, [x9]", &[], Bytes(2)),
            ("stfadd d1, [x9]", &[], Bytes(8)),
        ],
    );
}

/// The decoder takes each of these for any of its group: up to two pairs of registers, and 16 bytes.
#[test]
fn atomic_instructions_of_pairs_write_every_register_that_they_name() {
    compare(
        "pairs",
        ".arch_extension lse128\n.arch_extension lsui\n.arch_extension the\n.arch_extension d128",
        &[
            ("swpp x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("ldclrp x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("swpt w2, w4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("ldtadd x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("cast x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("caspt x4, x5, x6, x7, [x9]", &[4, 5, 6, 7], Bytes(16)),
            ("rcwcas x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("rcwcasp x4, x5, x6, x7, [x9]", &[4, 5, 6, 7], Bytes(16)),
            ("rcwswpp x2, x4, [x9]", &[2, 3, 4, 5], Bytes(16)),
            ("rcwswp x1, x2, [x9]", &[2], Bytes(8)),
            ("rcwclr x1, x2, [x9]", &[2], Bytes(8)),
        ],
    );
}

#[test]
fn accesses_of_64_bytes() {
    let eight = [10, 11, 12, 13, 14, 15, 16, 17];
    compare(
        "ls64",
        ".arch_extension ls64",
        &[
            ("ld64b x10, [x9]", &eight, Nothing),
            ("st64b x10, [x9]", &[], Bytes(64)),
            ("st64bv x1, x10, [x9]", &[1], Bytes(64)),
            ("st64bv0 x1, x10, [x9]", &[1], Bytes(64)),
        ],
    );
}

#[test]
fn accesses_that_acquire_or_release() {
    compare(
        "rcpc3",
        ".arch_extension simd\n.arch_extension rcpc3",
        &[
            ("stilp x1, x2, [x9]", &[], At(-16, 32)),
            ("stilp x1, x2, [x9, #-16]!", &[9], At(-16, 32)),
            ("stlr x1, [x9, #-8]!", &[9], At(-16, 32)),
            ("ldiapp x1, x2, [x9]", &[1, 2], Nothing),
            ("ldiapp x1, x2, [x9], #16", &[1, 2, 9], Nothing),
            ("ldapr x1, [x9], #8", &[1, 9], Nothing),
            ("ldap1 {{v0.d}}[0], [x9]", &[], Nothing),
            ("stl1 {{v0.d}}[0], [x9]", &[], Bytes(8)),
            ("ldapur x1, [x9, #8]", &[1], Nothing),
            ("stlur x1, [x9, #8]", &[], At(8, 8)),
            ("stlurb w1, [x9, #-3]", &[], At(-3, 1)),
            ("ldapursw x1, [x9, #8]", &[1], Nothing),
            ("stlur q0, [x9, #-16]", &[], At(-16, 16)),
            ("ldapur d0, [x9, #8]", &[], Nothing),
            ("stxp w1, x2, x3, [x9]", &[1], Bytes(16)),
            ("stxp w1, w2, w3, [x9]", &[1], Bytes(8)),
            // ldap x1, x2, [x9] and stlp x1, x2, [x9], which few assemblers know.
            (".inst 0xd9425921", &[1, 2], Nothing),
            (".inst 0xd9025921", &[], At(-16, 32)),
        ],
    );
}

#[test]
fn loads_and_stores_of_registers() {
    compare(
        "registers",
        ".arch_extension simd\n.arch_extension lsui\n.arch_extension pauth",
        &[
            ("stp w1, w2, [x9, #-8]", &[], At(-8, 8)),
            ("stp s0, s1, [x9]", &[], Bytes(8)),
            ("stnp q0, q1, [x9]", &[], Bytes(32)),
            ("ldtp x1, x2, [x9], #16", &[1, 2, 9], Nothing),
            ("sttp x1, x2, [x9, #16]!", &[9], At(16, 16)),
            ("sttnp x1, x2, [x9, #-16]", &[], At(-16, 16)),
            ("str b0, [x9, #3]", &[], At(3, 1)),
            ("strh w1, [x9], #2", &[9], Bytes(2)),
            ("ldr d0, .+8", &[], Nothing),
            ("ldr x1, .+8", &[1], Nothing),
            // A store with an index is one to an unknown place, unless the index is 0.
            ("str x1, [x9, x2]", &[], Anything),
            ("str x1, [x9, xzr]", &[], Bytes(8)),
            ("st1 {{v0.16b-v2.16b}}, [x9], #48", &[9], Bytes(48)),
            ("st3 {{v0.h-v2.h}}[1], [x9], x1", &[9], Bytes(6)),
            // Prefetches load nothing.
            ("prfm pldl1keep, [x9]", &[], Nothing),
            ("prfm pstl2strm, [x9, x1]", &[], Nothing),
            ("prfum pldl1keep, [x9, #-8]", &[], Nothing),
            ("prfm pldl1keep, .+8", &[], Nothing),
            // The address is authenticated, and moved.
            ("ldraa x1, [x9, #8]", &[1], Nothing),
            ("ldrab x1, [x9, #-8]!", &[1, 9], Nothing),
        ],
    );
}

#[test]
fn memory_tags() {
    compare(
        "tags",
        ".arch_extension memtag",
        &[
            ("stg x1, [x9]", &[], Bytes(16)),
            ("st2g x1, [x9], #32", &[9], Bytes(32)),
            ("ldg x1, [x9]", &[1], Nothing),
            ("stzg x1, [x9, #16]!", &[9], At(16, 16)),
            ("stz2g x1, [x9, #-16]", &[], At(-16, 32)),
            ("stgp x1, x2, [x9, #-16]!", &[9], At(-16, 16)),
            ("ldgm x1, [x9]", &[1], Nothing),
            ("stgm x1, [x9]", &[], At(-2047, 4095)),
            ("stzgm x1, [x9]", &[], At(-2047, 4095)),
            ("irg x1, x9", &[1], Nothing),
            ("irg sp, x9", &[31], Nothing),
            ("gmi x1, x2, x3", &[1], Nothing),
            ("subp x1, x2, x3", &[1], Nothing),
            ("addg x1, x9, #16, #1", &[1], Nothing),
            ("subg sp, sp, #16, #1", &[31], Nothing),
        ],
    );
}

#[test]
fn moves_of_memory() {
    compare(
        "mops",
        ".arch_extension mops",
        &[
            ("cpyfp [x9]!, [x2]!, x3!", &[2, 3, 9], Anything),
            ("cpye [x9]!, [x2]!, x1!", &[1, 2, 9], Anything),
            ("setp [x9]!, x2!, x3", &[2, 9], Anything),
            ("sete [x9]!, x2!, x1", &[2, 9], Anything),
        ],
    );
}

#[test]
fn system_instructions() {
    compare(
        "system",
        ".arch armv9.4-a+d128+the+gcs+wfxt+flagm\n.arch_extension gcs",
        &[
            ("chkfeat x16", &[16], Nothing),
            ("mrrs x2, x3, ttbr0_el1", &[2, 3], Nothing),
            ("msrr ttbr0_el1, x2, x3", &[], Nothing),
            ("sysp #0, c8, c1, #1, x2, x3", &[], Nothing),
            ("sysl x1, #0, c7, c0, #0", &[1], Nothing),
            ("sys #0, c7, c0, #0, x1", &[], Nothing),
            ("dc civac, x9", &[], Nothing),
            ("dc zva, x9", &[], At(-2047, 4095)),
            // dc gbva, dc zgbva
            (".inst 0xd50b74a9", &[], At(-2047, 4095)),
            (".inst 0xd50b74e9", &[], At(-2047, 4095)),
            ("wfet x1", &[], Nothing),
            ("wfit x1", &[], Nothing),
            ("rmif x1, #0, #15", &[], Nothing),
            ("setf8 w1", &[], Nothing),
            ("cfinv", &[], Nothing),
            ("dsb sy", &[], Nothing),
            ("isb", &[], Nothing),
            ("msr daifset, #2", &[], Nothing),
            ("msr spsel, #0", &[31, 40], Nothing),
            ("msr spsel, x1", &[31, 40], Nothing),
            ("msr daifclr, #2", &[33], Nothing),
            ("msr allint, #0", &[33], Nothing),
            ("msr daif, x1", &[33], Nothing),
            ("msr allint, x1", &[33], Nothing),
            ("msr elr_el12, x1", &[33], Nothing),
            ("msr elr_el2, x1", &[33, 39], Nothing),
            ("gcsstr x1, [x9]", &[], Bytes(8)),
            ("gcssttr x1, [x9]", &[], Bytes(8)),
            ("gcspushm x1", &[], Nothing),
            ("gcsss1 x1", &[], Nothing),
            ("gcspopm x1", &[1], Nothing),
            ("gcsss2 x1", &[1], Nothing),
        ],
    );
}

#[test]
fn scalable_vectors() {
    compare(
        "sve",
        ".arch armv9.4-a+sve2p1+sme2",
        &[
            ("ldr z0, [x9]", &[], Nothing),
            ("ld1b {{z0.b}}, p0/z, [x9]", &[], Nothing),
            ("str z0, [x9]", &[], Anything),
            ("st1b {{z0.b}}, p0, [x9]", &[], Anything),
            ("prfb pldl1keep, p0, [x9]", &[], Nothing),
            ("st1b {{z0.b-z3.b}}, pn8, [x9]", &[], Anything),
            ("adr z0.s, [z9.s, z2.s]", &[], Nothing),
            ("add z29.d, z29.d, z1.d", &[], Nothing),
            ("addvl x1, x2, #9", &[1], Nothing),
            ("addvl sp, sp, #-1", &[31], Nothing),
            ("addsvl sp, sp, #-1", &[31], Nothing),
            ("rdsvl x1, #1", &[1], Nothing),
            ("cntb x1", &[1], Nothing),
            ("cntp x1, pn2.b, vlx2", &[1], Nothing),
            ("incp x1, p2.b", &[1], Nothing),
            ("lastb x1, p2, z3.d", &[1], Nothing),
            ("str za[w12, #0], [x9]", &[], Anything),
            ("movt x1, zt0[0]", &[1], Nothing),
        ],
    );
}

#[test]
fn numbers_of_vectors_and_of_floating_point() {
    compare(
        "numbers",
        ".arch armv9.4-a+cssc",
        &[
            ("umov w1, v2.s[1]", &[1], Nothing),
            ("smov x1, v2.h[1]", &[1], Nothing),
            ("fmov x1, d2", &[1], Nothing),
            ("fmov x1, v2.d[1]", &[1], Nothing),
            ("fmov d2, x1", &[], Nothing),
            ("fcvtzs x1, d2", &[1], Nothing),
            ("fcvtzu w1, s2, #3", &[1], Nothing),
            ("scvtf d2, x1, #3", &[], Nothing),
            ("ucvtf d2, x1", &[], Nothing),
            ("fjcvtzs w1, d2", &[1], Nothing),
            ("fcmp d1, d2", &[], Nothing),
            ("smax x1, x2, x3", &[1], Nothing),
            ("umin w1, w2, #3", &[1], Nothing),
            ("abs x1, x2", &[1], Nothing),
            ("ccmp x1, x2, #0, eq", &[], Nothing),
            ("csel x1, x2, x3, eq", &[1], Nothing),
            ("madd x1, x2, x3, x4", &[1], Nothing),
            ("bfi x1, x2, #3, #4", &[1], Nothing),
            ("extr x1, x2, x3, #4", &[1], Nothing),
        ],
    );
}
