//! What the linker alone can link can be linked with `sframe-link`, and where it cannot its words are what is shown.

use super::*;
use crate::common::tool;

/// GNU ld and lld of Debian's.
fn linkers() -> [(&'static str, String); 2] {
    let program = |name, package| {
        let found = tool(name, package);
        format!("--sframe-linker={}", found.get_program().to_str().unwrap())
    };
    [
        ("ld", program("ld", "binutils")),
        ("lld", program("ld.lld", "lld")),
    ]
}

/// Runs `sframe-link` in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = crate::common::sframe_link();
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

/// A script that looks at what follows the code is content with another place.
#[test]
fn another_place_is_found_if_a_script_refuses_the_first_one() {
    let script = "ENTRY(_start)
        SECTIONS { . = 1M; .text : { *(.text .text.*) . = ALIGN(4096); code_end = .; }
        .rodata : { rodata_start = .; *(.rodata*) }
        ASSERT(rodata_start == code_end, \"the constants are somewhere else\")
        .eh_frame : { KEEP(*(.eh_frame)) } .data : { *(.data*) } }";
    for (name, linker) in linkers() {
        let constants = format!("{CALLS}.section .rodata, \"a\"\n.quad 7\n");
        let (folder, object) = assembled(&format!("alone_assert_{name}"), &constants);
        fs::write(folder.join("image.ld"), script).unwrap();
        let output = run(
            &folder,
            &[
                &linker,
                "-T",
                "image.ld",
                "-o",
                "image",
                "--sframe-require",
                &object,
            ],
        );
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        assert!(
            !stderr(&output).contains("somewhere else"),
            "{}",
            stderr(&output)
        );
        let check = sframe(&["check"], &folder.join("image"));
        assert!(check.status.success(), "{}", stdout(&check));
    }
}

#[test]
fn what_is_wrong_without_tables_is_said_by_the_linker_alone() {
    let script = "ENTRY(_start) SECTIONS { . = 1M; .code : { *(.text .text.*) } .data : { *(.data*) } wrong = nowhere; }";
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_wrong_{name}"), CALLS);
        fs::write(folder.join("image.ld"), script).unwrap();
        let output = run(
            &folder,
            &[&linker, "-T", "image.ld", "-o", "image", &object],
        );
        let mut alone = Command::new(linker.trim_start_matches("--sframe-linker="));
        let alone = alone
            .current_dir(&folder)
            .args(["-T", "image.ld", "-o", "image", &object])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), alone.status.code(), "{name}");
        let own = stderr(&output);
        assert_eq!(own.lines().next(), stderr(&alone).lines().next(), "{own}");
        assert!(own.contains("nowhere") && !own.contains("tables"), "{own}");
    }
}

/// A script without memory regions has none to name.
#[test]
fn a_script_that_limits_the_size_gets_no_advice_about_regions() {
    let script = "/* MEMORY is 1 MiB. */ ENTRY(_start)
        SECTIONS { . = 1M; .text : { *(.text .text.*) } .rodata : { *(.rodata*) } .eh_frame : { KEEP(*(.eh_frame)) }
        .data : { *(.data*) } ASSERT(. - 1M < 0xc0, \"the image is too large\") }";
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_limit_{name}"), CALLS);
        fs::write(folder.join("image.ld"), script).unwrap();
        let output = run(
            &folder,
            &[&linker, "-T", "image.ld", "-o", "image", &object],
        );
        let said = stderr(&output);
        assert!(output.status.success(), "{name}: {said}");
        assert!(said.contains("is linked without unwind tables"), "{said}");
        assert!(said.contains("the image is too large"), "{said}");
        assert!(!said.contains("region"), "{said}");
        let note =
            "sframe-link: note: if the linker script limits the size of the image, raise the limit";
        assert!(said.contains(note), "{said}");
    }
}

/// Assembly with code in 30 sections that no script names.
fn orphans() -> String {
    let sections =
        (0..30).map(|n| format!(".section .code{n}, \"ax\"\n.skip {}, 0x90\n ret\n", n + 1));
    format!("{CALLS}{}", sections.collect::<String>())
}

/// GNU ld inserts nothing after a section that no script names, so the tables follow a section that its own script names.
#[test]
fn tables_follow_code_that_no_script_names() {
    let constants = [
        ("none", ""),
        ("constants", ".section .rodata\n.quad 7\n"),
        ("orphan", ".section .constants, \"a\"\n.quad 7\n"),
    ];
    let without_text = "SECTIONS { . = 1M; .code : { *(.text) } .rodata : { *(.rodata) } }";
    let text_last = "SECTIONS { . = 1M; .eh_frame : { KEEP(*(.eh_frame)) } .text : { *(.text) } }";
    for (name, linker) in linkers() {
        for (kind, constants) in constants {
            let text = format!("{}{constants}", orphans());
            let (folder, object) = assembled(&format!("alone_orphans_{name}_{kind}"), &text);
            fs::write(folder.join("without.ld"), without_text).unwrap();
            fs::write(folder.join("last.ld"), text_last).unwrap();
            for more in [
                &[][..],
                &["-T", "without.ld"],
                &["-T", "last.ld"],
                &["-z", "noseparate-code"],
            ] {
                let arguments = ["-e", "_start", "-o", "image", "--sframe-require"];
                let arguments = [&[&*linker], &arguments[..], more, &[&object]].concat();
                let output = run(&folder, &arguments);
                assert!(output.status.success(), "{more:?}: {}", stderr(&output));
                let check = sframe(&["check"], &folder.join("image"));
                assert!(check.status.success(), "{}", stdout(&check));
            }
        }
    }
}

/// The script discards each section that could contain the tables.
#[test]
fn code_without_constants_that_no_script_names_is_linked_without_tables() {
    let (_, ld) = &linkers()[0];
    let (folder, object) = assembled("alone_orphans", &orphans());
    let script =
        "SECTIONS { . = 1M; .text : { *(.text) } /DISCARD/ : { *(.eh_frame) *(.rodata) } }";
    fs::write(folder.join("image.ld"), script).unwrap();
    let arguments = [
        &**ld, "-e", "_start", "-o", "image", "-T", "image.ld", &object,
    ];
    let output = run(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let warning = "sframe-link: warning: image is linked without unwind tables: the linker cannot place unwind tables after section .code29: ";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
    let image = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&image).unwrap();
    assert!(image.section(".code29").unwrap().is_some());
    let required = run(&folder, &[&arguments[..], &["--sframe-require"]].concat());
    assert_eq!(required.status.code(), Some(1));
    assert!(!folder.join("image").exists());
}

/// If this program cannot write next to the output, the linker's messages name what the user passed.
#[test]
fn an_output_that_cannot_be_written_is_named_by_the_linker_alone() {
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_nowhere_{name}"), CALLS);
        fs::write(folder.join("file"), "").unwrap();
        for path in ["nodir/image", "file/image", "no/such/folder/image"] {
            let arguments = ["-e", "_start", "-o", path, &object];
            let output = run(&folder, &[&[&*linker], &arguments[..]].concat());
            let mut alone = Command::new(linker.trim_start_matches("--sframe-linker="));
            let alone = alone.current_dir(&folder).args(arguments).output().unwrap();
            assert_eq!(output.status.code(), alone.status.code(), "{name}");
            assert_eq!(stderr(&output), stderr(&alone), "{name}");
        }
    }
}

/// Messages about the image name the output, and not a temporary file.
#[test]
fn warnings_of_the_linker_name_the_output() {
    let (_, ld) = &linkers()[0];
    let (folder, object) = assembled("alone_names", CALLS);
    let output = run(&folder, &[ld, "-N", "-e", "_start", "-o", "image", &object]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("image has a LOAD segment"), "{said}");
    assert!(!said.contains("sframe-link.image"), "{said}");
}

#[test]
fn other_formats_are_linked_without_tables() {
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_format_{name}"), CALLS);
        for format in [&["--oformat=binary"][..], &["--oformat", "binary"]] {
            let arguments = [
                &["-Ttext=0x100000", "-e", "_start", "-o", "image", &*object],
                format,
            ]
            .concat();
            let mut alone = Command::new(linker.trim_start_matches("--sframe-linker="));
            succeed(alone.current_dir(&folder).args(&arguments));
            let expected = fs::read(folder.join("image")).unwrap();
            let output = run(&folder, &[&[&*linker], &*arguments].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            let warning = "sframe-link: warning: image is linked without unwind tables: the output format binary cannot contain unwind tables";
            assert!(stderr(&output).contains(warning), "{}", stderr(&output));
            assert!(fs::read(folder.join("image")).unwrap() == expected);
            let required = run(
                &folder,
                &[&[&*linker, "--sframe-require"], &*arguments].concat(),
            );
            assert_eq!(required.status.code(), Some(1));
            assert!(!folder.join("image").exists());
        }
    }
}

/// A script chooses the format of the output. lld knows no such formats.
#[test]
fn a_script_that_chooses_another_format_is_linked_without_tables() {
    let script = "ENTRY(_start) OUTPUT_FORMAT(binary)
        SECTIONS { . = 1M; .text : { *(.text .text.*) } .eh_frame : { KEEP(*(.eh_frame)) } .data : { *(.data*) } }";
    let [(_, linker), _] = linkers();
    let (folder, object) = assembled("alone_script_format", CALLS);
    fs::write(folder.join("image.ld"), script).unwrap();
    let arguments = ["-T", "image.ld", "-o", "image", &object];
    let mut alone = Command::new(linker.trim_start_matches("--sframe-linker="));
    succeed(alone.current_dir(&folder).args(arguments));
    let expected = fs::read(folder.join("image")).unwrap();
    let output = run(&folder, &[&[&*linker], &arguments[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let warning = "sframe-link: warning: image is linked without unwind tables: the output file is not an ELF file, so it cannot contain unwind tables";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
    assert!(fs::read(folder.join("image")).unwrap() == expected);
    let required = run(
        &folder,
        &[&[&*linker, "--sframe-require"], &arguments[..]].concat(),
    );
    assert_eq!(required.status.code(), Some(1));
    assert!(!folder.join("image").exists());
}

/// No tables can be made for these, but the rest of a build goes on.
#[test]
fn architectures_without_tables_are_linked_if_that_is_asked_for() {
    for (target, emulation) in [
        ("i686-unknown-linux-gnu", "elf_i386"),
        ("riscv64gc-unknown-none-elf", "elf64lriscv"),
    ] {
        let folder = folder(&format!("alone_{emulation}"));
        let text =
            ".globl _start\n.type _start, %function\n_start: nop\n.size _start, . - _start\n";
        let object = crate::common::assemble(&folder, target, text);
        let object = object.to_str().unwrap();
        let arguments = ["-m", emulation, "-o", "image", object];
        let refused = run(&folder, &arguments);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            said.contains("; to link without unwind tables, pass --sframe-unsupported=link"),
            "{said}"
        );
        assert!(!folder.join("image").exists());
        let asked = [&["--sframe-unsupported=link"], &arguments[..]].concat();
        let output = run(&folder, &asked);
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains(
                "warning: image is linked without unwind tables: unsupported architecture "
            ),
            "{said}"
        );
        assert!(folder.join("image").exists());
        let output = run(&folder, &[&["--sframe-require"], &*asked].concat());
        assert_eq!(output.status.code(), Some(1));
    }
}

/// Another link of the same file begins and ends while this one has its files written, and its linker has not read them.
#[test]
fn links_of_one_file_leave_each_others_files_alone() {
    let (folder, object) = assembled("alone_parallel", CALLS);
    let inner = counting_linker(&folder);
    let outer = folder.join("outer-ld");
    let text = format!(
        "#!/bin/sh
begin() {{ touch begun; {} --sframe-linker={} -T image.ld -L {} -o image {object} && cp image other; }}
case \"$*\" in *.sframe-link.o*) [ -e begun ] || begin;; esac
exec {} \"$@\"
",
        env!("CARGO_BIN_EXE_sframe-link"),
        inner.display(),
        scripts(),
        inner.display()
    );
    fs::write(&outer, text).unwrap();
    fs::set_permissions(&outer, fs::Permissions::from_mode(0o755)).unwrap();
    let linker = format!("--sframe-linker={}", outer.display());
    for _ in 0..2 {
        let _ = fs::remove_file(folder.join("begun"));
        let output = link(&folder, SCRIPT, &[&linker, &object]);
        assert!(output.status.success(), "{}", stderr(&output));
        let images = ["image", "other"].map(|name| fs::read(folder.join(name)).unwrap());
        assert!(images[0] == images[1]);
    }
    let left = fs::read_dir(&folder).unwrap();
    let mut left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.find(|name| name.contains(".sframe-link")), None);
}

/// A file system takes names of 255 bytes; lld needs some of them for its own temporary file.
#[test]
fn long_names_of_outputs_are_taken() {
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_long_{name}"), CALLS);
        let long = "x".repeat(244);
        for output in [long.as_str(), "-image"] {
            let before = format!("-o{output}");
            let dependencies = "--dependency-file=image.d";
            let linked = run(
                &folder,
                &[&linker, "-e", "_start", &before, dependencies, &object],
            );
            assert!(linked.status.success(), "{}", stderr(&linked));
            let check = sframe(&["check"], &folder.join(output));
            assert!(check.status.success(), "{}", stdout(&check));
            let target = fs::read_to_string(folder.join("image.d")).unwrap();
            let target = target.split(':').next().unwrap();
            assert_eq!(target.trim_start_matches("./"), output);
        }
    }
}

/// lld writes a file of this name to standard output, and GNU ld to a file.
#[test]
fn an_output_called_dash_goes_where_the_linker_writes_it() {
    for (name, linker) in linkers() {
        let (folder, object) = assembled(&format!("alone_dash_{name}"), CALLS);
        let arguments = [&*linker, "-e", "_start", &object, "-o"];
        let named = run(&folder, &[&arguments[..], &["image"]].concat());
        assert!(named.status.success(), "{}", stderr(&named));
        let expected = fs::read(folder.join("image")).unwrap();
        let output = run(&folder, &[&arguments[..], &["-"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        match name {
            "lld" => {
                assert!(output.stdout == expected);
                assert!(!folder.join("-").exists());
            }
            _ => assert!(fs::read(folder.join("-")).unwrap() == expected),
        }
    }
}
