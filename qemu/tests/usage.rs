//! Arguments that cannot be used: status 2, and one line that helps.

use crate::support::runner::{command, installed, run};

/// README's first command: of the programs that the workspace has, it is the runner. Cargo compiles that and the linker once more for it,
/// because packages have fewer features than what tests need.
#[long]
fn cargo_run_is_the_runner() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .current_dir(qemu::workspace::root())
        .args(["run", "--quiet", "--", "--list"])
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{output:?}");
    let listing = qemu::scenario::listing("x86_64") + "\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), listing);
}

#[gate]
fn an_unknown_scenario_lists_the_known() {
    let ran = run(["no-such-scenario"])
        .expect(2)
        .expect_words("\"no-such-scenario\"");
    let its = qemu::scenario::SCENARIOS.iter();
    for scenario in its.filter(|scenario| scenario.is_on("x86_64")) {
        assert!(ran.words.contains(scenario.name), "{}", ran.words);
    }
    assert!(ran.serial.is_empty(), "nothing was booted");
    assert_eq!(ran.words.lines().count(), 1, "one line: {}", ran.words);
}

#[gate]
fn an_unknown_scenario_stops_the_known_ones_too() {
    let ran = run(["panic", "no-such-scenario"]).expect(2);
    assert!(ran.serial.is_empty(), "nothing was booted");
}

#[gate]
fn an_unknown_architecture_lists_the_known() {
    run(["--arch", "riscv64"])
        .expect(2)
        .expect_words("x86_64, aarch64");
}

/// The kernel does not boot: it would be in vain.
#[gate]
fn a_file_that_cannot_be_written_stops_the_boot() {
    use crate::support::tiny::{self, Act};
    use qemu::machine::Arch;

    let folder = tempfile::tempdir().unwrap();
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    let image = image.to_str().unwrap();
    for (option, name) in [
        ("--profile", "missing/out.svg"),
        ("--screenshot", "missing/out.png"),
        ("--screenshot", ""),
    ] {
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        let ran = run(["--image", image, option, file]).expect(2);
        let ran = ran.expect_words(&format!("cannot write {}: ", file.trim_end_matches('/')));
        assert!(!ran.words.contains(".sframe-"), "{}", ran.words);
        assert!(ran.serial.is_empty(), "nothing was booted");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the image");
}

/// Cargo says to what it starts that it is there; nobody does so to an installed program.
#[gate]
fn an_installed_runner_has_its_own_name() {
    let own = |arguments: &[&str]| {
        let output = command()
            .env_remove("CARGO")
            .args(arguments)
            .output()
            .unwrap();
        let all = [output.stdout, output.stderr].concat();
        String::from_utf8(all).unwrap()
    };
    let usage = own(&["--profile", "x.svg", "--gdb", "panic"]);
    assert!(usage.contains("Usage: unwind-qemu "), "{usage}");
    let usage = own(&["autopsy"]);
    assert!(usage.contains("Usage: unwind-qemu autopsy "), "{usage}");
    let help = own(&["--help"]);
    assert!(help.contains("  unwind-qemu autopsy DUMPS/NAME "), "{help}");
    assert!(!help.contains("cargo run"), "{help}");
}

/// Nothing of the checkout is below the current folder, nor does the program stand in a target folder.
#[gate]
fn an_installed_runner_boots_an_image_in_an_empty_folder() {
    use crate::support::tiny::{self, Act};
    use qemu::machine::Arch;

    let [programs, images, empty] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let runner = installed(programs.path());
    let image = tiny::image(
        images.path(),
        Arch::X86_64,
        &[Act::Print(b"up\n"), Act::Exit(33)],
    );
    let output = std::process::Command::new(runner)
        .env_remove("CARGO")
        .env_remove("CARGO_MANIFEST_DIR")
        .current_dir(empty.path())
        .arg("--image")
        .arg(&image)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"up\n");
    let serial = empty.path().join("target/serial");
    assert_eq!(std::fs::read_dir(serial).unwrap().count(), 1);
}

#[gate]
fn a_missing_image_is_named() {
    let ran = run(["--image", "no/such/image.elf"])
        .expect(2)
        .expect_words("no/such/image.elf");
    assert_eq!(ran.words.lines().count(), 1, "one line: {}", ran.words);
}

#[gate]
fn an_image_must_be_elf() {
    let ran = run([
        "--image",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ]);
    let ran = ran.expect(2).expect_words("is not an ELF file");
    assert_eq!(ran.words.lines().count(), 1, "one line: {}", ran.words);
}

#[gate]
fn an_image_must_be_for_the_machine() {
    use crate::support::tiny::{self, Act};
    use qemu::machine::Arch;

    let folder = tempfile::tempdir().expect("a folder can be made");
    for (of, on) in [(Arch::X86_64, Arch::Aarch64), (Arch::Aarch64, Arch::X86_64)] {
        let image = tiny::image(folder.path(), of, &[Act::Exit(33)]);
        let image = image.to_str().expect("a path in UTF-8");
        run(["--arch", on.name(), "--image", image])
            .expect(2)
            .expect_words(&format!("is for {of}, not for {on}"));
    }
}

#[gate]
fn an_image_of_an_unknown_architecture_is_refused() {
    use crate::support::tiny::{self, Act};
    use qemu::machine::Arch;

    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    let mut bytes = std::fs::read(&image).expect("the image can be read");
    // The machine's number in the ELF header: RISC-V's.
    bytes[18..20].copy_from_slice(&object::elf::EM_RISCV.0.to_le_bytes());
    std::fs::write(&image, bytes).expect("the image can be written");
    let image = image.to_str().expect("a path in UTF-8");
    run(["--image", image])
        .expect(2)
        .expect_words("ELF machine 243");
}

#[gate]
fn the_list_has_every_scenario_on_standard_output() {
    let text = run(["--list"]).expect(0).text();
    let lines: Vec<_> = text.lines().collect();
    let its = qemu::scenario::SCENARIOS.iter();
    let its: Vec<_> = its.filter(|scenario| scenario.is_on("x86_64")).collect();
    assert_eq!(lines.len(), its.len());
    for (line, scenario) in lines.iter().zip(its) {
        assert!(
            line.starts_with(scenario.name) && line.ends_with(scenario.about),
            "{line}"
        );
    }
}
