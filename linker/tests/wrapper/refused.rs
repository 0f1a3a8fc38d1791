//! What cannot be linked with tables.

use super::*;

#[test]
fn a_script_with_a_place_for_one_table_is_refused() {
    let (folder, object) = assembled("half_a_place", CALLS);
    let half = ".tables.sframe : { __sframe_start = .; KEEP(*(.tables.sframe)) __sframe_end = .; }";
    let output = link(
        &folder,
        &SCRIPT.replace("INCLUDE tables.ld", half),
        &[&object],
    );
    refuses(
        &folder,
        &output,
        "image: section .symbols has no place in the image, because symbol __symbols_start is not defined: add INCLUDE tables.ld to the linker script after every \
         section that contains code (`sframe-link --sframe-script` prints tables.ld)",
    );
}

#[test]
fn a_fragment_before_code_is_refused() {
    let (folder, object) = assembled("a_fragment_before_code", CALLS);
    let script = SCRIPT
        .replace("INCLUDE tables.ld", "")
        .replace(".text :", "INCLUDE tables.ld .text :");
    let output = link(&folder, &script, &[&object]);
    assert!(
        stderr(&output).contains(
            "sframe-link: error: image: function _start is at 0xffffffff80100000 in the link without unwind tables, but at 0xffffffff8010"
        ),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("image").exists());
}

#[test]
fn an_image_without_eh_frame_is_refused() {
    let (folder, object) = assembled("without_eh_frame", ".globl _start\n_start: ret\n");
    let output = link(&folder, SCRIPT, &[&object, "--sframe-repair=no"]);
    refuses(
        &folder,
        &output,
        "image: the image has no .eh_frame: compile with -C force-unwind-tables=yes, and keep the section in the \
         linker script",
    );
    // Names need none.
    let output = link(&folder, SCRIPT, &[&object, "--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The code itself tells, unless there is none.
    let output = link(&folder, SCRIPT, &[&object]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    assert!(dump.contains("  _start\n"), "{dump}");
    let (folder, object) = assembled("without_code", ".globl _start\n_start = 0\n");
    let output = link(&folder, SCRIPT, &[&object]);
    refuses(
        &folder,
        &output,
        "image: the image has no .eh_frame (no unwind rows could be synthesized from the code): compile with -C force-unwind-tables=yes, and \
         keep the section in the linker script",
    );
}

/// Code of which neither a symbol nor call frame information tells where it is: only the code itself gives it rows.
const UNNAMED: &str = "
.section .more, \"ax\", %progbits
.Lunnamed:
 push %rbx
 call .Lalso
 pop %rbx
 ret
.Lalso:
 sub $24, %rsp
 add $24, %rsp
 ret
";

/// Links [`CALLS`] with a call of [`UNNAMED`] by a script. Returns what the link has said.
fn link_unnamed(name: &str, script: &str, switches: &[&str]) -> (PathBuf, Output) {
    let calls = CALLS.replace("call callee", "call .Lunnamed");
    let (folder, object) = assembled(name, &(calls + UNNAMED));
    let object = [object.as_str()];
    let output = link(&folder, script, &[&object, switches].concat());
    (folder, output)
}

#[test]
fn code_without_names_must_not_move() {
    let tables = "INCLUDE tables.ld";
    let more = format!("{tables}\n.more : {{ *(.more) }}");
    let moved = SCRIPT.replace(tables, &more);
    for switches in [&[][..], &["-s"], &["--symbols=none"]] {
        let (folder, output) = link_unnamed("moved_section", &moved, switches);
        let said = stderr(&output);
        let expected = "sframe-link: error: image: adding the unwind tables moved sections with code (before: .more at 0xffffffff80100";
        assert!(said.contains(expected), "{switches:?}: {said}");
        assert!(
            said.contains(": in the linker script, add INCLUDE"),
            "{said}"
        );
        assert!(!folder.join("image").exists());
    }
    let (folder, output) = link_unnamed("unmoved_section", SCRIPT, &["-s"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    assert!(
        dump.contains("pc = 0xffffffff80100007, size = 17 bytes"),
        "{dump}"
    );
}

#[test]
fn code_without_names_must_not_move_in_its_section() {
    let text = ".text : { *(.text .text.*) }";
    let script = SCRIPT.replace(
        text,
        ".text : { *(.text) . += more; *(.more) . = ALIGN(256); }",
    );
    // The second link has an object with the room.
    let linker = counting_linker(&folder("moved_by_linker"));
    let moving = linker.with_file_name("moving-ld");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *.sframe-link.o*) more=16;; *) more=0;; esac\nexec {} \"$@\" --defsym=more=$more\n",
        linker.display()
    );
    fs::write(&moving, text).unwrap();
    fs::set_permissions(&moving, fs::Permissions::from_mode(0o755)).unwrap();
    let moving = format!("--sframe-linker={}", moving.display());
    let (folder, output) = link_unnamed("moved_inside", &script, &[&moving, "-s"]);
    let said = stderr(&output);
    let expected = " differs between the links with and without unwind tables: in the linker script, add INCLUDE";
    assert!(said.contains(expected), "{said}");
    assert!(!folder.join("image").exists());
}

/// Two sections with code at one address: which of them an address is in depends on what was loaded last.
#[test]
fn overlays_are_linked_without_tables() {
    let text = CALLS.replace("callee:\n", "callee: nop\n").replace(
        ".type callee,",
        ".section .text.other, \"ax\"\n.type other, %function\nother: ret\n.size other, 1\n.section .text.callee, \"ax\"\n.type callee,",
    );
    let (folder, object) = assembled("overlays", &text);
    let script = SCRIPT.replace(
        ".text : { *(.text .text.*) }",
        ".text : { *(.text) } .first 0x1000 : AT(0x1000) { *(.text.other) } .second 0x1000 : AT(0x2000) { *(.text.callee) }
         . = 0xffffffff80101000;",
    );
    let ld = crate::common::tool("ld", "binutils");
    let linker = format!("--sframe-linker={}", Path::new(ld.get_program()).display());
    fs::write(folder.join("image.ld"), script).unwrap();
    let expected = "image is linked without unwind tables: sections .first and .second both contain code at 0x1000, but unwind tables can describe only one \
         function per address";
    for (switch, code, words) in [
        ("--no-check-sections", 0, expected),
        (
            "--sframe-require",
            1,
            "error: image: sections .first and .second both contain code",
        ),
    ] {
        let mut command = crate::common::sframe_link();
        command.current_dir(&folder).args([
            &linker,
            "-L",
            &scripts(),
            "-T",
            "image.ld",
            "-o",
            "image",
        ]);
        let output = command
            .args(["--no-check-sections", switch, &object])
            .output()
            .unwrap();
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(errors.contains(words), "{errors}");
        assert_eq!(folder.join("image").exists(), code == 0);
    }
}

/// A kernel would read whatever is at the address.
#[test]
fn tables_in_no_segment_are_refused() {
    let (folder, object) = assembled("no_segment", CALLS);
    let tables = fs::read_to_string(Path::new(&scripts()).join("tables.ld")).unwrap();
    for section in [".tables.sframe", ".symbols"] {
        let unloaded = tables.replace(&format!("\n{section} :"), &format!("\n{section} (INFO) :"));
        assert_ne!(unloaded, tables, "{tables}");
        let script = SCRIPT.replace("INCLUDE tables.ld", &unloaded);
        let ld = crate::common::tool("ld", "binutils");
        let linker = format!("--sframe-linker={}", Path::new(ld.get_program()).display());
        fs::write(folder.join("image.ld"), script).unwrap();
        let mut command = crate::common::sframe_link();
        command
            .current_dir(&folder)
            .args([&linker, "-T", "image.ld", "-o", "image", &object]);
        let output = command.output().unwrap();
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("is not in a loaded segment"),
            "{section}: {errors}"
        );
        assert!(!folder.join("image").exists());
    }
}
