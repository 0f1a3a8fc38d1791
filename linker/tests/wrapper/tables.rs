//! Tables that are damaged, or come with the inputs.

use super::*;

#[test]
fn a_damaged_section_is_noticed_by_check() {
    let folder = folder("a_damaged_section");
    let (path, _) = image(&folder, TARGET, CALLS);
    let data = fs::read(&path).unwrap();
    let section = Image::parse(&data)
        .unwrap()
        .section(".sframe")
        .unwrap()
        .unwrap();
    let at = section.offset as usize;
    let damaged = |offset: usize, value: u8| {
        let mut data = data.clone();
        data[at + offset] = value;
        let path = folder.join("damaged");
        fs::write(&path, data).unwrap();
        sframe(&["check"], &path)
    };
    // The CFA's offset of the only row: the last byte before the proof, the code's checksum, the address and the checksum. The list has one range, because
    // no call enters the entry point. Then the first function's size, and the magic
    // number.
    let proof = PROOF_SIZE + UNPROVEN_SIZE + CODE_CHECKSUM_SIZE + CODE_CHECKSUMS_SIZE;
    let output = damaged(
        section.data.len() - CHECKSUM_SIZE - LINKED_SIZE - proof - 1,
        16,
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("4 addresses: 4 differences"),
        "{}",
        stdout(&output)
    );
    let output = damaged(28 + 8, 1);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains(
            "0xffffffff80100000: the size of the function differs from the expected size"
        ),
        "{}",
        stdout(&output)
    );
    let output = damaged(0, 0);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad magic"), "{}", stderr(&output));
    // Its rows lie outside: a table from which nothing can be kept.
    let made = damaged_and_made(&folder, &data, at + 28 + 12, 0xff);
    assert!(
        made.contains("the rows of function 0 are outside the unwind table"),
        "{made}"
    );
    let made = damaged_and_made(&folder, &data, at + 2, 9);
    assert!(made.contains("unknown SFrame version 9"), "{made}");

    // A name: the blob's checksum is wrong.
    let symbols = Image::parse(&data)
        .unwrap()
        .section(".symbols")
        .unwrap()
        .unwrap();
    let byte = symbols.offset as usize + 60;
    let mut changed = data.clone();
    changed[byte] ^= 1;
    let path = folder.join("damaged");
    fs::write(&path, changed).unwrap();
    let expected = format!("section .symbols at offset {}: ", symbols.offset);
    let output = sframe(&["check"], &path);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    // What it says of an address comes from elsewhere, and that is said.
    let start = "0xffffffff80100000";
    let expected = format!(
        "section .symbols at offset {} cannot be used: ",
        symbols.offset
    );
    let output = Command::new(env!("CARGO_BIN_EXE_sframe"))
        .args(["lookup".as_ref(), path.as_os_str(), start.as_ref()])
        .output()
        .unwrap();
    assert!(
        stdout(&output).contains("_start+0x0"),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

/// Assembly that carries no other table than `.sframe`: its rows are taken from there, whether the object file is on the
/// command line or in an archive, unless the linker removed the function or cannot tell it from another.
#[test]
fn tables_of_inputs_are_merged() {
    let function = |name: &str, body: &str| {
        format!(
            ".section .text.{name},\"ax\",@progbits\n.type {name}, %function\n{name}:\n.cfi_startproc\n{body}\n\
             .cfi_endproc\n.size {name}, . - {name}\n"
        )
    };
    let only = ".cfi_sections .sframe\n";
    let (folder, main) = assembled(
        "merged",
        &(".globl _start\n".to_owned()
            + &function("_start", " call one\n call two\n call local\n hlt")
            + &function("local", " ret")),
    );
    let one = format!(
        "{only}.globl one\n{}{}{}.text\n.Lnameless:\n.cfi_startproc\n nop\n.cfi_endproc\n",
        function(
            "one",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n call local\n pop %rbp\n\
             .cfi_def_cfa_offset 8\n .cfi_restore rbp\n ret"
        ),
        function("local", " ret"),
        function("unused", " ret"),
    );
    let one = crate::common::assemble(&crate::common::folder("merged_one"), TARGET, &one);
    let two = format!(
        "{only}.globl two\n{}",
        function(
            "two",
            " sub $16, %rsp\n .cfi_def_cfa_offset 24\n add $16, %rsp\n .cfi_def_cfa_offset 8\n ret"
        )
    );
    let two_folder = crate::common::folder("merged_two");
    crate::common::assemble(&two_folder, TARGET, &two);
    let archive = two_folder.join("libtwo.rlib");
    succeed(
        crate::common::rustc()
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "--target",
                TARGET,
                "-Cpanic=abort",
                "--crate-type=rlib",
                "-o",
            ])
            .arg(&archive)
            .arg(two_folder.join("assembler.rs")),
    );
    let script = SCRIPT.replace("*(.text .text.*)", "KEEP(*(.text._start)) *(.text .text.*)");
    let inputs = [
        main.as_str(),
        one.to_str().unwrap(),
        archive.to_str().unwrap(),
        "--gc-sections",
    ];
    let output = link(&folder, &script, &inputs);
    let errors = stderr(&output);
    assert!(output.status.success(), "{errors}");
    for expected in [
        format!(
            "ignoring the .sframe rows of function local in {}, because several functions have the same name",
            one.display()
        ),
        format!(
            "ignoring .sframe rows for 1 bytes of code without a symbol in {}, because the address of the code in the image is unknown",
            one.display()
        ),
    ] {
        let expected = format!("sframe-link: warning: {expected}\n");
        assert!(errors.contains(&expected), "{errors}");
    }
    let image = folder.join("image");
    let names = |file: &Path| -> Vec<String> {
        let dump = stdout(&sframe(&["dump"], file));
        let functions = dump.lines().filter(|line| line.contains("func idx"));
        functions
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect()
    };
    // Where the input's rows cannot be used, the code says what they are.
    assert_eq!(names(&image), ["_start", "local", "one", "local", "two"]);
    assert!(stdout(&sframe(&["dump"], &image)).contains("sp+16     c-16      f\n"));
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    assert!(!text.contains("because only .sframe describes"), "{text}");
    // Without the code only what has a name of its own can be used. Nothing else but the code can be compared with it.
    let output = link(
        &folder,
        &script,
        &[&inputs[..], &["--sframe-repair=no"]].concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&image), ["_start", "local", "one", "two"]);
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    // The second `local` has no row, and the code shows which it could have.
    assert!(text.contains(", no unwind row: 1 bytes\n"), "{text}");
    // Made again, what only the table says is kept.
    let again = folder.join("again");
    let made = |repair: &str| {
        let made = sframe(
            &[
                "make",
                "--sframe-repair",
                repair,
                "-o",
                again.to_str().unwrap(),
            ],
            &image,
        );
        assert!(made.status.success(), "{}", stderr(&made));
        stdout(&made)
    };
    let said = made("no");
    assert!(
        said.contains("functions and unwind rows that are only in .sframe: 2 functions, 6 rows\n"),
        "{said}"
    );
    assert_eq!(names(&again), ["_start", "local", "one", "two"]);
    let said = made("yes");
    assert!(
        said.contains("functions and unwind rows that are only in .sframe: 2 functions, 6 rows\n"),
        "{said}"
    );
    assert!(
        said.contains(
            "functions and unwind rows that are synthesized from the code: 1 functions, 1 rows\n"
        ),
        "{said}"
    );
    assert_eq!(names(&again), ["_start", "local", "one", "local", "two"]);
}
