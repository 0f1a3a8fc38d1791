//! Failures that a kernel sends as log frames, and not as text.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::machine::Arch;

use super::kernel;
use crate::support::built::image;
use crate::support::runner::run;
use crate::support::tiny::{self, Act};

/// Returns a frame that contains `text`, encoded by the table of this image.
fn frame(image: &Path, text: &str) -> Vec<u8> {
    let data = fs::read(image).expect("the image is there");
    let file = object::File::parse(&*data).expect("a sound image");
    let section = file.section_by_name(".defmt").expect("words for frames");
    let its = file.symbols().filter(|symbol| {
        let is_text = |name: &str| name.contains(r#""tag":"defmt_println","data":"{=str}""#);
        symbol.section_index() == Some(section.index()) && symbol.name().is_ok_and(is_text)
    });
    let number = its.map(|symbol| symbol.address() as u16).next();
    let number = number.expect("a message that is only a text");
    let length = (text.len() as u32).to_le_bytes();
    let message = [&number.to_le_bytes()[..], &length, text.as_bytes()].concat();
    [&[0], &*rzcobs::encode(&message), &[0]].concat()
}

/// QEMU's exit status is 0 after both texts.
#[gate]
fn a_panic_in_a_frame_is_no_success() {
    let words_of = image(kernel(Arch::Aarch64));
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (text, status) in [("panicked at src/main.rs:1:2:", 101), ("all well", 0)] {
        let frame = frame(&words_of, text);
        let acts = [Act::Print(&frame), Act::Exit(0)];
        let booted = tiny::image(folder.path(), Arch::Aarch64, &acts);
        let script = folder.path().join("boot");
        let qemu = "exec qemu-system-aarch64 -M virt -cpu max -m 64M -semihosting-config enable=on";
        let command = format!("{qemu} -kernel {} \"$@\"\n", booted.display());
        fs::write(&script, command).expect("a script can be written");
        let ran = run([
            "--image".as_ref(),
            words_of.as_os_str(),
            "--guest-timeout".as_ref(),
            "5".as_ref(),
            "--".as_ref(),
            "sh".as_ref(),
            script.as_os_str(),
        ]);
        ran.expect(status);
    }
}
