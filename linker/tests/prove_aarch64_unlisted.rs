//! Which registers and which bytes each kind of A64 instruction writes, against the manual's page of the instruction: Arm
//! Architecture Reference Manual for A-profile architecture (DDI 0487), chapter C6. Extensions that llvm-objdump may not know
//! are among them.

use linker::prove::aarch64::A64;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Address, Base, Register, Value};

const SP: Register = A64::STACK_POINTER;
/// The register with the address, as most texts name it, and where on the stack that is.
const BASE: Register = 9;
const PLACE: i64 = -48;
/// Bytes around that place that are looked at one by one.
const AROUND: std::ops::Range<i64> = -16..72;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stores {
    Nothing,
    /// So many bytes, from the address on.
    Bytes(i64),
    /// So many bytes, so far behind the address.
    At(i64, i64),
    /// How many depends on the processor.
    Anything,
}
use Stores::{Anything, At, Bytes, Nothing};

/// Executes each text alone, with the base register on the stack, and compares what has changed with what the text writes.
fn compare(name: &str, extensions: &str, cases: &[(&str, &[Register], Stores)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, ..)| *text).collect();
    let text = format!("{extensions}\n{}", texts.join("\n"));
    let code = crate::common::a64::code(&format!("a64_unlisted_{name}"), &text);
    assert_eq!(code.len(), 4 * cases.len());
    for (word, (text, registers, stores)) in code.chunks_exact(4).zip(cases) {
        let mut before = Machine::at_entry(SP);
        for offset in AROUND {
            let value = Value::Signed((offset - AROUND.start) as Register);
            before.store(Address::Stack(Base::ENTRY, PLACE + offset), 1, value);
        }
        before.set(BASE, Value::Stack(Base::ENTRY, PLACE));
        before.at = crate::common::a64::START;
        let mut after = before.clone();
        let executed = A64.execute(word, &mut after, &mut Tables::default());
        assert_eq!(executed.map(|done| done.flow), Some(Flow::Next), "{text}");
        let changed: Vec<Register> = (0..=SP)
            .filter(|of| before.get(*of) != after.get(*of))
            .collect();
        assert_eq!(changed, *registers, "registers that {text} writes");
        let byte = |machine: &Machine, offset| machine.peek(Base::ENTRY, PLACE + offset, 1);
        let overwritten: Vec<i64> = AROUND
            .filter(|of| byte(&before, *of) != byte(&after, *of))
            .collect();
        let expected: Vec<i64> = match *stores {
            Nothing => Vec::new(),
            Bytes(count) => (0..count).collect(),
            At(offset, count) => (offset..offset + count).collect(),
            Anything => AROUND.collect(),
        };
        assert_eq!(overwritten, expected, "bytes that {text} writes");
    }
}

#[test]
fn atomic_instructions_write_the_register_that_gets_the_old_value() {
    compare(
        "lse",
        ".arch_extension lse\n.arch_extension lse128\n.arch_extension lsui\n.arch_extension lsfe",
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
            // Pairs of registers.
            ("swpp x1, x2, [x9]", &[1, 2], Bytes(16)),
            ("ldclrp x1, x2, [x9]", &[1, 2], Bytes(16)),
            ("ldsetpal x1, x2, [x9]", &[1, 2], Bytes(16)),
            // Those of unprivileged code have the size in one bit.
            ("swpt w1, w2, [x9]", &[2], Bytes(4)),
            ("ldtadd x1, x2, [x9]", &[2], Bytes(8)),
            ("cast x1, x2, [x9]", &[1], Bytes(8)),
            ("caspt x4, x5, x6, x7, [x9]", &[4, 5], Bytes(16)),
            // Of numbers that are not followed.
            ("ldfadd h1, h2, [x9]", &[], Bytes(2)),
            ("ldfadd s1, s2, [x9]", &[], Bytes(4)),
            ("ldfadd d1, d2, [x9]", &[], Bytes(8)),
            ("ldbfadd h1, h2, [x9]", &[], Bytes(2)),
            ("stfadd d1, [x9]", &[], Bytes(8)),
            ("stbfadd h1, [x9]", &[], Bytes(2)),
        ],
    );
}

#[test]
fn atomic_instructions_of_translation_tables() {
    compare(
        "the",
        ".arch_extension the\n.arch_extension d128",
        &[
            ("rcwcas x1, x2, [x9]", &[1], Bytes(8)),
            ("rcwscas x1, x2, [x9]", &[1], Bytes(8)),
            ("rcwcasp x4, x5, x6, x7, [x9]", &[4, 5], Bytes(16)),
            ("rcwscasp x4, x5, x6, x7, [x9]", &[4, 5], Bytes(16)),
            ("rcwswp x1, x2, [x9]", &[2], Bytes(8)),
            ("rcwclr x1, x2, [x9]", &[2], Bytes(8)),
            ("rcwsset x1, x2, [x9]", &[2], Bytes(8)),
            ("rcwswpp x1, x2, [x9]", &[1, 2], Bytes(16)),
            ("rcwclrp x1, x2, [x9]", &[1, 2], Bytes(16)),
            ("rcwssetp x1, x2, [x9]", &[1, 2], Bytes(16)),
        ],
    );
}

#[test]
fn accesses_of_64_bytes() {
    compare(
        "ls64",
        ".arch_extension ls64",
        &[
            (
                "ld64b x10, [x9]",
                &[10, 11, 12, 13, 14, 15, 16, 17],
                Nothing,
            ),
            ("st64b x10, [x9]", &[], Bytes(64)),
            ("st64bv x1, x10, [x9]", &[1], Bytes(64)),
            ("st64bv0 x1, x10, [x9]", &[1], Bytes(64)),
        ],
    );
}

#[test]
fn accesses_that_acquire_or_release() {
    compare(
        "rcpc",
        ".arch_extension rcpc3",
        &[
            ("ldapr x1, [x9]", &[1], Nothing),
            ("ldapr x1, [x9], #8", &[1, 9], Nothing),
            ("stlr x1, [x9, #-8]!", &[9], Anything),
            ("ldiapp x1, x2, [x9]", &[1, 2], Nothing),
            ("ldiapp x1, x2, [x9], #16", &[1, 2, 9], Nothing),
            ("stilp x1, x2, [x9]", &[], Anything),
            ("stilp x1, x2, [x9, #-16]!", &[9], Anything),
            ("ldap1 {{v0.d}}[0], [x9]", &[], Nothing),
            ("stl1 {{v0.d}}[0], [x9]", &[], Anything),
            ("ldapur x1, [x9, #8]", &[1], Nothing),
            ("stlur x1, [x9, #8]", &[], At(8, 8)),
            ("stlurb w1, [x9, #-3]", &[], At(-3, 1)),
            ("ldapur d0, [x9, #8]", &[], Nothing),
            ("stlur d0, [x9, #8]", &[], At(8, 8)),
            ("stlur q0, [x9, #-16]", &[], At(-16, 16)),
            ("stlr x1, [x9]", &[], Bytes(8)),
            ("ldar w1, [x9]", &[1], Nothing),
            ("ldaxr x1, [x9]", &[1], Nothing),
            ("ldaxp x1, x2, [x9]", &[1, 2], Nothing),
            ("stxr w1, x2, [x9]", &[1], Bytes(8)),
            ("stlxrh w1, w2, [x9]", &[1], Bytes(2)),
            ("stxp w1, x2, x3, [x9]", &[1], Bytes(16)),
            ("stxp w1, w2, w3, [x9]", &[1], Bytes(8)),
            // ldap x1, x2, [x9] and stlp x1, x2, [x9], which few assemblers know.
            (".inst 0xd9425921", &[1, 2], Nothing),
            (".inst 0xd9025921", &[], Anything),
        ],
    );
}

#[test]
fn loads_and_stores_of_registers() {
    compare(
        "registers",
        ".arch_extension lsui\n.arch_extension pauth",
        &[
            ("ldp x1, x2, [x9], #16", &[1, 2, 9], Nothing),
            ("stp x1, x2, [x9, #16]", &[], At(16, 16)),
            ("stp w1, w2, [x9, #-8]", &[], At(-8, 8)),
            ("stp s0, s1, [x9]", &[], Bytes(8)),
            ("stnp q0, q1, [x9]", &[], Bytes(32)),
            ("ldtp x1, x2, [x9]", &[1, 2], Nothing),
            ("ldtp x1, x2, [x9], #16", &[1, 2, 9], Nothing),
            ("sttp x1, x2, [x9, #16]!", &[9], At(16, 16)),
            ("sttnp x1, x2, [x9, #-16]", &[], At(-16, 16)),
            ("str q0, [x9, #16]", &[], At(16, 16)),
            ("str d0, [x9, #16]", &[], At(16, 8)),
            ("str b0, [x9, #3]", &[], At(3, 1)),
            ("strh w1, [x9], #2", &[9], Bytes(2)),
            ("ldr d0, .+8", &[], Nothing),
            ("ldr x1, .+8", &[1], Nothing),
            // Prefetches load nothing.
            ("prfm pldl1keep, [x9]", &[], Nothing),
            ("prfm pstl2strm, [x9, x1]", &[], Nothing),
            ("prfum pldl1keep, [x9, #-8]", &[], Nothing),
            ("prfm pldl1keep, .+8", &[], Nothing),
            // The address is authenticated, and moved.
            ("ldraa x1, [x9, #8]", &[1], Nothing),
            ("ldraa x1, [x9, #8]!", &[1, 9], Nothing),
            ("ldrab x1, [x9, #-8]!", &[1, 9], Nothing),
        ],
    );
}

#[test]
fn tags_are_no_data() {
    compare(
        "tags",
        "",
        &[
            ("stg x1, [x9]", &[], Nothing),
            ("st2g x1, [x9], #32", &[9], Nothing),
            ("ldg x1, [x9]", &[1], Nothing),
            ("stzg x1, [x9, #16]", &[], At(16, 16)),
            ("stzg x1, [x9], #16", &[9], Bytes(16)),
            ("stzg x1, [x9, #16]!", &[9], At(16, 16)),
            ("stz2g x1, [x9, #-16]", &[], At(-16, 32)),
            ("stgp x1, x2, [x9, #16]", &[], At(16, 16)),
            ("stgp x1, x2, [x9], #16", &[9], Bytes(16)),
            ("stgp x1, x2, [x9, #-16]!", &[9], At(-16, 16)),
            ("ldgm x1, [x9]", &[1], Nothing),
            ("stgm x1, [x9]", &[], Anything),
            ("stzgm x1, [x9]", &[], Anything),
            ("irg x1, x9", &[1], Nothing),
            ("gmi x1, x2, x3", &[1], Nothing),
            ("subp x1, x2, x3", &[1], Nothing),
            ("addg x1, x9, #16, #1", &[1], Nothing),
            ("subg sp, sp, #16, #1", &[31], Nothing),
        ],
    );
}

/// What lies between the registers that say where and how much is moved: only the first one's memory is written.
#[test]
fn moves_of_memory() {
    compare(
        "mops",
        ".arch_extension mops",
        &[
            ("cpyfp [x9]!, [x2]!, x3!", &[2, 3, 9], Anything),
            ("cpyfm [x1]!, [x9]!, x3!", &[1, 3, 9], Nothing),
            ("cpye [x1]!, [x2]!, x9!", &[1, 2, 9], Nothing),
            ("setp [x9]!, x2!, x3", &[2, 9], Anything),
            ("sete [x1]!, x2!, x9", &[1, 2], Nothing),
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
            ("wfet x1", &[], Nothing),
            ("wfit x1", &[], Nothing),
            ("rmif x1, #0, #15", &[], Nothing),
            ("setf8 w1", &[], Nothing),
            ("cfinv", &[], Nothing),
            ("msr daifset, #2", &[], Nothing),
            ("msr spsel, #0", &[31], Nothing),
            ("msr daif, x1", &[], Nothing),
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
        ".arch_extension sve2\n.arch_extension sme",
        &[
            ("ldr z0, [x9]", &[], Nothing),
            ("ld1b {{z0.b}}, p0/z, [x9]", &[], Nothing),
            ("str z0, [x9]", &[], Anything),
            ("st1b {{z0.b}}, p0, [x9]", &[], Anything),
            ("st1b {{z0.b}}, p0, [x1, x9]", &[], Nothing),
            ("prfb pldl1keep, p0, [x9]", &[], Nothing),
            // Vector 9 has the number of the base register.
            ("adr z0.s, [z9.s, z2.s]", &[], Nothing),
            ("addvl x1, x2, #9", &[1], Nothing),
            ("addvl sp, sp, #-1", &[31], Nothing),
            ("cntb x1", &[1], Nothing),
        ],
    );
}

/// Room of a size that only the processor knows, and addresses with a tag, are on the stack if what they are made from is.
#[test]
fn addresses_made_from_addresses() {
    for (name, text, is_stack) in [
        ("addg", "addg x1, sp, #16, #1", true),
        ("subg", "subg x1, sp, #16, #1", true),
        ("irg", "irg x1, sp, x2", true),
        ("addvl", "addvl x1, sp, #-1", true),
        ("addvl_other", "mov x9, sp\n addvl x1, x2, #9", false),
        ("addg_other", "mov x1, sp\n addg x1, x2, #16, #1", false),
    ] {
        let text = format!(".arch_extension sve2\n {text}");
        let ran = crate::common::a64::run(&format!("a64_unlisted_{name}"), &text);
        let value = ran.machine.get(1);
        let is = matches!(value, Value::Stack(base, 0) if base != Base::ENTRY);
        assert_eq!(is, is_stack, "{text}: {value:?}");
        assert!(is_stack || !matches!(value, Value::Stack(..)), "{text}");
    }
}
