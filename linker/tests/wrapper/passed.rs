//! What goes to the linker, and what comes back from it.

use super::*;

#[test]
fn what_the_linker_says_is_passed_on() {
    let (folder, object) = assembled("passed_on", CALLS);
    let output = link(&folder, SCRIPT, &[&object, "missing.o"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("missing.o"), "{}", stderr(&output));
    // A warning of both links is shown once.
    let output = link(&folder, SCRIPT, &[&object, "-e", "nowhere"]);
    assert!(output.status.success());
    assert_eq!(
        stderr(&output).matches("nowhere").count(),
        1,
        "{}",
        stderr(&output)
    );
    // No image, no tables.
    let output = link(&folder, "", &[&object, "-r"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // rust-lld's own answer.
    let version = succeed(crate::common::sframe_link().arg("--version"));
    assert!(stdout(&version).starts_with("LLD "), "{}", stdout(&version));
}

/// As a compiler or a configuration script asks: there is nothing to link, and an image of another link stays.
#[test]
fn questions_are_answered_by_the_linker_and_remove_no_image() {
    let (folder, object) = assembled("questions", CALLS);
    let ld = crate::common::tool("ld", "binutils");
    let ld = Path::new(ld.get_program());
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = crate::common::sframe_link();
        let linker = format!("--sframe-linker={}", ld.display());
        command.current_dir(&folder).arg(linker).args(arguments);
        command.output().unwrap()
    };
    // With room for tables, which the next link begins with.
    let scripts = scripts();
    let linked = run(&["-L", &scripts, "-T", "image.ld", &object]);
    assert!(linked.status.success(), "{}", stderr(&linked));
    let image = fs::read(folder.join("a.out")).unwrap();
    let answer = |arguments: &[&str]| {
        let mut alone = Command::new(ld);
        succeed(alone.current_dir(&folder).args(arguments))
    };
    for question in [
        &["--verbose"][..],
        &["-m", "elf_x86_64", "-V"],
        &["-m", "elf_x86_64", "--verbose"],
        &["-L", &scripts, "-T", "image.ld", "--verbose"],
        &["--print-output-format"],
    ] {
        let output = run(question);
        assert!(output.status.success(), "{question:?}");
        assert_eq!(stdout(&output), stdout(&answer(question)), "{question:?}");
        assert_eq!(stderr(&output), "", "{question:?}");
        let after = fs::read(folder.join("a.out")).expect("the image is there");
        assert!(after == image, "{question:?}");
    }
    // Not if there is something to link.
    let output = run(&[&object, "--target-help"]);
    assert_eq!(stdout(&output), stdout(&answer(&["--target-help"])));
    assert!(output.status.success() && folder.join("a.out").exists());
}

/// A script can name what is linked.
#[test]
fn a_link_whose_script_names_its_inputs_is_no_question() {
    let (folder, object) = assembled("inputs_in_a_script", CALLS);
    let script = format!("{SCRIPT}\nINPUT({object})\n");
    let output = link(&folder, &script, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(sframe(&["check"], &folder.join("image")).status.success());
}

/// Each link has a standard output; only the last one's is true of the image.
#[test]
fn standard_output_is_that_of_the_last_link() {
    let (folder, object) = assembled("standard_output", CALLS);
    let ld = crate::common::tool("ld", "binutils");
    let ld = format!("--sframe-linker={}", Path::new(ld.get_program()).display());
    for arguments in [
        &["--print-map"][..],
        &[&ld, "--print-memory-usage"],
        &[&ld, "-s", "--print-memory-usage"],
    ] {
        let _ = fs::remove_file(folder.join("image"));
        // The second time, there is one link less.
        let outputs = [(); 2].map(|()| {
            let output = link(&folder, SCRIPT, &[arguments, &[&object]].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            stdout(&output)
        });
        assert!(!outputs[0].is_empty(), "{arguments:?}");
        assert_eq!(outputs[0], outputs[1], "{arguments:?}");
    }
}

#[test]
fn arguments_may_come_in_a_response_file() {
    let (folder, object) = assembled("response_file", CALLS);
    fs::write(folder.join("my script.ld"), SCRIPT).unwrap();
    fs::write(
        folder.join("arguments"),
        format!(
            "-T 'my script.ld'\n-L\"{}\"\n--sframe-stats\n-o my\\ image {object}\n",
            scripts()
        ),
    )
    .unwrap();
    let mut command = crate::common::sframe_link();
    let output = succeed(
        command
            .current_dir(&folder)
            .args(["-flavor", "gnu", "@arguments"]),
    );
    assert!(
        stderr(&output)
            .contains(".sframe: 2 functions, 2 rows (stored as 1 rows after deduplication)"),
        "{}",
        stderr(&output)
    );
    assert!(
        sframe(&["check"], &folder.join("my image"))
            .status
            .success()
    );
}

#[test]
fn another_linker_can_be_named() {
    let (folder, object) = assembled("another_linker", CALLS);
    let mut command = crate::common::sframe_link();
    let output = command
        .env("SFRAME_LINK_LD", "/nowhere/lld")
        .args([
            object,
            "-o".to_owned(),
            folder.join("image").display().to_string(),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = ": cannot run the linker /nowhere/lld: No such file or directory (os error 2)\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
}

#[test]
fn a_second_link_is_left_out_when_the_last_image_has_the_room() {
    // Enough functions for a table whose size is rounded up.
    let functions = |count: usize| -> String {
        let one = |index| {
            format!(
                ".type f{index}, %function\nf{index}: .cfi_startproc\n push %rbp\n.cfi_def_cfa_offset 16\n pop %rbp\n\
                 .cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size f{index}, . - f{index}\n"
            )
        };
        (0..count).map(one).collect()
    };
    let folder = folder("one_link");
    let linker = counting_linker(&folder);
    let linker = format!("--sframe-linker={}", linker.display());
    let linked = |count: usize| {
        let object =
            crate::common::assemble(&folder, TARGET, &(CALLS.to_owned() + &functions(count)));
        let _ = fs::remove_file(folder.join("runs"));
        let output = link(
            &folder,
            SCRIPT,
            &[&object.display().to_string(), &linker, "--symbols=none"],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(sframe(&["check"], &folder.join("image")).status.success());
        let runs = fs::read_to_string(folder.join("runs"))
            .unwrap()
            .lines()
            .count();
        (runs, fs::read(folder.join("image")).unwrap())
    };
    let fresh = |count: usize| {
        fs::remove_file(folder.join("image")).unwrap();
        linked(count)
    };
    let (runs, first) = linked(398);
    assert_eq!(runs, 2);
    let (runs, again) = linked(398);
    assert_eq!(runs, 1);
    assert!(first == again);
    // One function more still has room; with many more it takes a second link.
    let (runs, one_more) = linked(399);
    assert_eq!(runs, 1);
    let (runs, many_more) = linked(500);
    assert_eq!(runs, 2);
    // None of it shows in the image.
    assert!(fresh(399) == (2, one_more));
    assert!(fresh(500) == (2, many_more));
}

#[test]
fn a_link_is_made_again_from_what_was_kept() {
    let (folder, object) = assembled("kept", CALLS);
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let image = folder.join("image");
    let mut command = crate::common::sframe_link();
    command
        .current_dir(&folder)
        .env("SFRAME_LINK_KEEP", "inputs");
    command.args(["-flavor", "gnu", "-T", "image.ld", "-L", &scripts(), "-o"]);
    succeed(command.arg(&image).arg(&object));
    fs::remove_file(&object).unwrap();
    fs::remove_file(folder.join("image.ld")).unwrap();
    // In another folder, and as often as one likes.
    for (switches, has_names) in [(&[][..], true), (&["--symbols=none"], false)] {
        let again = folder.join("again");
        let arguments = format!("@{}", folder.join("inputs/arguments").display());
        let mut command = crate::common::sframe_link();
        succeed(command.arg(arguments).args(switches).arg("-o").arg(&again));
        let [image, again] = [&image, &again].map(|path| fs::read(path).unwrap());
        assert_eq!(image == again, has_names);
    }
}

/// The value of a switch is kept as it is, although a file has its name; what is kept does not change; and only a folder of its own is
/// replaced.
#[test]
fn only_inputs_are_kept() {
    let (folder, object) = assembled("kept_inputs", CALLS);
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    fs::write(folder.join("_start"), "not the entry").unwrap();
    let link = |keep: &str| {
        let mut command = crate::common::sframe_link();
        command.current_dir(&folder).env("SFRAME_LINK_KEEP", keep);
        command.args([
            "-T",
            "image.ld",
            "-L",
            &scripts(),
            "-e",
            "_start",
            "-o",
            "image",
        ]);
        command.arg(&object).output().unwrap()
    };
    for _ in 0..2 {
        assert!(link("inputs").status.success());
    }
    let arguments = fs::read_to_string(folder.join("inputs/arguments")).unwrap();
    assert!(!arguments.contains("-_start"), "{arguments}");
    let kept = fs::read_dir(folder.join("inputs")).unwrap();
    let kept = kept.map(|file| file.unwrap().path());
    let kept = kept.filter(|path| path.extension().is_some_and(|end| end == "o"));
    let [kept] = &kept.collect::<Vec<_>>()[..] else {
        panic!("one object is kept");
    };
    let before = fs::read(kept).unwrap();
    // As `ar` does with an archive.
    fs::OpenOptions::new()
        .write(true)
        .open(&object)
        .unwrap()
        .set_len(1)
        .unwrap();
    assert_eq!(fs::read(kept).unwrap(), before);

    fs::create_dir(folder.join("source")).unwrap();
    fs::write(folder.join("source/main.s"), "").unwrap();
    let refused = link("source");
    assert!(!refused.status.success());
    let said = stderr(&refused);
    assert!(
        said.contains("the folder for linker inputs contains files that sframe-link did not write"),
        "{said}"
    );
    assert!(folder.join("source/main.s").is_file());
}

/// The build id in the tables is that of the file, wherever a linker script puts it.
#[test]
fn build_id_in_another_section_is_found_by_its_segment_or_missed_with_a_warning() {
    let text = format!("{CALLS}.section .rodata, \"a\"\n.quad 7\n");
    let (folder, object) = assembled("moved_build_id", &text);
    let moved = SCRIPT.replace("*(.rodata ", "KEEP(*(.note.gnu.build-id)) *(.rodata ");
    let with_segment = moved
        .replace(
            "SECTIONS {",
            "PHDRS { load PT_LOAD; note PT_NOTE; }\nSECTIONS {",
        )
        .replace("*(.text .text.*) }", "*(.text .text.*) } :load")
        .replace(
            "*(.rodata .rodata.*) }",
            "*(.rodata .rodata.*) } :load :note",
        )
        .replace("KEEP(*(.eh_frame)) }", "KEEP(*(.eh_frame)) } :load");
    let id = "--build-id=0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    for (script, is_found) in [(SCRIPT, true), (&with_segment, true), (&moved, false)] {
        let output = link(&folder, script, &[&object, id]);
        assert!(output.status.success(), "{}", stderr(&output));
        let data = fs::read(folder.join("image")).unwrap();
        let image = Image::parse(&data).unwrap();
        let symbols = image.section(".symbols").unwrap().unwrap();
        let table = unwind::symbols::SymbolTable::parse(symbols.data, symbols.address).unwrap();
        let expected: Vec<u8> = match is_found {
            true => [1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef].repeat(3)[..20].to_vec(),
            false => Vec::new(),
        };
        assert_eq!(table.build_id(), expected, "{script}");
        let warned = stderr(&output).contains(
            "sframe-link: warning: the unwind tables contain no build ID, because the build ID is in section .rodata, which is not a note section",
        );
        assert_eq!(warned, !is_found, "{}", stderr(&output));
    }
}

/// GNU ld takes abbreviations of long switches.
#[test]
fn output_in_an_abbreviation_gets_the_tables() {
    let (folder, object) = assembled("abbreviated", CALLS);
    let ld = crate::common::tool("ld", "binutils");
    let linker = format!("--sframe-linker={}", Path::new(ld.get_program()).display());
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    for arguments in [
        &["--outpu=image", "--scr=image.ld"][..],
        &["--outp", "image", "--scri", "image.ld"],
    ] {
        let _ = fs::remove_file(folder.join("image"));
        let mut command = crate::common::sframe_link();
        command
            .current_dir(&folder)
            .args([&linker, "--library-p", &scripts()]);
        let output = command.args(arguments).arg(&object).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(sframe(&["check"], &folder.join("image")).status.success());
        assert!(!folder.join("a.out").exists());
    }
}
