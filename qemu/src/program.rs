//! What somebody types to start this program again: `cargo run --` in a checkout, otherwise its own name.

use std::path::Path;
use std::sync::LazyLock;

/// How examples and messages are written.
const IN_A_CHECKOUT: &str = "cargo run --";

/// The name of the published program.
const PUBLISHED: &str = "unwind-qemu";

/// What cargo keeps beside the programs that it builds, and not beside those that it installs.
const LOCK: &str = ".cargo-lock";

/// What begins a command line of this program.
#[must_use]
pub fn called() -> &'static str {
    static CALLED: LazyLock<String> = LazyLock::new(|| {
        let path = std::env::current_exe().unwrap_or_default();
        name(&path, std::env::var_os("CARGO").is_some())
    });
    &CALLED
}

/// That of the program at this path. Cargo also starts an installed one: as the runner of somebody's kernel.
fn name(path: &Path, by_cargo: bool) -> String {
    let is_built_here = path.with_file_name(LOCK).is_file();
    match by_cargo && is_built_here {
        true => IN_A_CHECKOUT.to_owned(),
        false => {
            let name = path.file_name().unwrap_or(PUBLISHED.as_ref());
            name.to_string_lossy().into_owned()
        }
    }
}

/// Returns a path as one word of a command for a shell, so that a message can show a command that the user copies.
#[must_use]
pub fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+:@%=,".contains(c);
    // A program takes a word that begins with a dash for an option.
    let start = if text.starts_with('-') { "./" } else { "" };
    match !text.is_empty() && text.chars().all(is_plain) {
        true => format!("{start}{text}"),
        false => format!("'{start}{}'", text.replace('\'', r"'\''")),
    }
}

/// Examples with what this program is called now. What is said of them stays in one column.
#[must_use]
pub fn examples(text: &str) -> String {
    renamed(text, called())
}

fn renamed(text: &str, called: &str) -> String {
    const INDENTED: &str = "  cargo run";
    let line = |line: &str| {
        let named = |command: &str| {
            let command = command.replace("cargo run --release --", called);
            let command = command.replace(IN_A_CHECKOUT, called);
            command.replace("cargo run", called)
        };
        let gap = line.strip_prefix("  ").and_then(|rest| rest.find("  "));
        match gap.map(|gap| line.split_at(gap + 2)) {
            _ if called == IN_A_CHECKOUT || !line.starts_with(INDENTED) => line.to_owned(),
            Some((command, said)) => {
                let text = said.trim_start();
                format!("{:1$}{text}", named(command), line.len() - text.len())
            }
            None => named(line),
        }
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_has_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unwind-qemu");
        assert_eq!(name(&path, true), "unwind-qemu");
        std::fs::write(folder.path().join(LOCK), "").unwrap();
        assert_eq!(name(&path, false), "unwind-qemu");
        assert_eq!(name(&path, true), "cargo run --");
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for name in [
            "a/b-c.elf",
            "größe",
            "a b",
            "it's $HOME",
            "-x",
            "-a b",
            "~",
            "#;&*?",
        ] {
            let script = format!("printf %s {}", word(Path::new(name)));
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .output();
            let output = output.expect("a shell starts").stdout;
            let text = String::from_utf8(output).expect("text");
            assert_eq!(text.strip_prefix("./").unwrap_or(&text), name);
            assert!(!text.starts_with('-'), "{text}");
        }
        assert_eq!(word(Path::new("my-kernel")), "my-kernel");
    }

    #[test]
    fn examples_have_the_programs_name_and_one_column() {
        let text = "Examples:\n  cargo run           one\n  cargo run -- a b    two\n  cargo run -- c -- d\n  0    as cargo run";
        assert_eq!(renamed(text, IN_A_CHECKOUT), text);
        let expected = "Examples:\n  unwind-qemu         one\n  unwind-qemu a b     two\n  unwind-qemu c -- d\n  0    as cargo run";
        assert_eq!(renamed(text, "unwind-qemu"), expected);
    }
}
