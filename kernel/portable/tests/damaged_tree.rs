//! Device trees that are damaged: whatever is wrong, reading them ends, and does not panic.

use portable::device_tree::DeviceTree;

const VIRT: &[u8] = include_bytes!("data/virt-4.dtb");

/// Reads all that the kernel reads.
fn read(bytes: &[u8]) -> Option<usize> {
    let tree = DeviceTree::new(bytes)?;
    let mut found = usize::from(tree.is_of("linux,dummy-virt"));
    found += usize::from(tree.console().is_some()) + usize::from(tree.conduit().is_some());
    found += tree.command_line().map_or(0, str::len);
    tree.cpus(|_, _| found += 1);
    Some(found)
}

#[test]
fn every_byte_may_be_another() {
    let whole = read(VIRT).expect("a sound tree");
    let mut bytes = VIRT.to_vec();
    let mut others = 0;
    for at in 0..bytes.len() {
        let sound = bytes[at];
        for value in [sound ^ 1 << (at % 8), 0xff] {
            bytes[at] = value;
            others += usize::from(read(&bytes) != Some(whole));
        }
        bytes[at] = sound;
    }
    assert!(others > 100, "the damage has effects");
}

#[test]
fn every_word_may_have_an_extreme_value() {
    let mut bytes = VIRT.to_vec();
    for at in (0..bytes.len() - 3).step_by(4) {
        let sound: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
        let length = VIRT.len() as u32;
        for value in [0, length, u32::MAX] {
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            read(&bytes);
        }
        bytes[at..at + 4].copy_from_slice(&sound);
    }
}

#[test]
fn a_tree_may_end_anywhere() {
    for length in 0..VIRT.len() {
        read(&VIRT[..length]);
    }
}
