//! Assembles text, proves it, and writes the result for each run of instructions.

use std::fs;

use linker::cfi::Frames;
use linker::image::Image;
use linker::prove::unit::Found;
use linker::prove::{Proof, Rows};
use linker::symbols::Symbols;
use unwind::sframe::{Base, Row, Rule};

use super::{SCRIPT, assemble, folder, scripts, sframe_link, succeed};

/// Where [`SCRIPT`] puts the first instruction.
pub const START: u64 = 0xffff_ffff_8010_0000;

/// A row in the columns of `objdump --sframe`: CFA, frame pointer, return address.
pub fn text(row: &Row) -> String {
    let base = |base| match base {
        Base::StackPointer => "sp".to_owned(),
        Base::FramePointer => "fp".to_owned(),
        Base::Cfa => "c".to_owned(),
        Base::Register(number) => format!("r{number}"),
    };
    let rule = |rule| match rule {
        Rule::Same => "u".to_owned(),
        Rule::Undefined => "none".to_owned(),
        Rule::Value { base: of, offset } => format!("{}{offset:+}", base(of)),
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } => format!("c{offset:+}"),
        Rule::Saved { base: of, offset } => format!("({}{offset:+})", base(of)),
    };
    let (cfa, fp, ra) = (
        rule(row.cfa),
        rule(row.frame_pointer),
        rule(row.return_address),
    );
    let signed = if row.signed { "[s]" } else { "" };
    format!("{cfa} {fp} {ra}{signed}")
}

/// Links a text, and writes the result for each run of instructions, by its offset in the image's code.
pub fn prove(name: &str, target: &str, assembly: &str) -> String {
    prove_linked(name, target, assembly, &[])
}

/// Links a text without tables, and returns the image.
pub fn linked(name: &str, target: &str, assembly: &str, switches: &[&str]) -> Vec<u8> {
    linked_by(SCRIPT, name, target, assembly, switches)
}

fn linked_by(script: &str, name: &str, target: &str, assembly: &str, switches: &[&str]) -> Vec<u8> {
    let folder = folder(name);
    let object = assemble(&folder, target, assembly);
    fs::write(folder.join("image.ld"), script).unwrap();
    let path = folder.join("image");
    let mut link = sframe_link();
    link.current_dir(&folder)
        .args([
            "-T",
            "image.ld",
            "-L",
            &scripts(),
            "--sframe=none",
            "--symbols=none",
            "-o",
        ])
        .arg(&path)
        .args(switches)
        .arg(object);
    succeed(&mut link);
    fs::read(&path).unwrap()
}

/// [`prove`], with more switches for the linker.
pub fn prove_linked(name: &str, target: &str, assembly: &str, switches: &[&str]) -> String {
    results(&linked(name, target, assembly, switches), START)
}

/// [`prove`], with the first instruction at another address.
pub fn prove_at(name: &str, target: &str, assembly: &str, start: u64) -> String {
    let script = SCRIPT.replace(&format!("{START:#x}"), &format!("{start:#x}"));
    results(&linked_by(&script, name, target, assembly, &[]), start)
}

fn results(data: &[u8], first: u64) -> String {
    let image = Image::parse(data).unwrap();
    let symbols = Symbols::of(&image.file);
    let proof = proof_of(&image, &symbols);
    let mut lines: Vec<(u64, u64, String)> = Vec::new();
    for span in &proof.spans {
        let found = match &span.found {
            Found::Agrees => "agrees".to_owned(),
            Found::Mended(row) => format!("mended {}", text(row)),
            Found::Made(row) => format!("made {}", text(row)),
            Found::Withdrawn(reason) => format!("withdrawn: {}", reason.words()),
            Found::Undecided(reason) => format!("undecided: {}", reason.words()),
            Found::Missing(reason) => format!("missing: {}", reason.words()),
        };
        let (start, end) = (span.start - first, span.end - first);
        match lines.last_mut() {
            Some(last) if last.1 == start && last.2 == found && !found.starts_with("made") => {
                last.1 = end;
            }
            _ => lines.push((start, end, found)),
        }
    }
    let lines = lines
        .iter()
        .map(|(start, end, found)| format!("{start}..{end} {found}\n"));
    lines.collect()
}

/// The proof of an image. A second proof, of the rows that this one leaves, must find nothing wrong with them.
pub fn proof_of(image: &Image<'_>, symbols: &Symbols) -> Proof {
    let rows = Rows::of(image, true, Frames::default(), symbols).unwrap();
    let again = Proof::of(image, &rows.frames, symbols).unwrap();
    for span in &again.spans {
        let wrong = matches!(span.found, Found::Mended(_) | Found::Withdrawn(_));
        assert!(!wrong, "what was mended is wrong: {span:x?}");
    }
    rows.proof.unwrap()
}

/// A function with call frame information.
pub fn function(name: &str, body: &str) -> String {
    format!(
        "{}.cfi_startproc\n{body}\n.cfi_endproc\n.size {name}, . - {name}\n",
        head(name)
    )
}

/// A function without call frame information.
pub fn silent(name: &str, body: &str) -> String {
    format!("{}{body}\n.size {name}, . - {name}\n", head(name))
}

fn head(name: &str) -> String {
    format!(".globl {name}\n.type {name}, %function\n{name}:\n")
}
