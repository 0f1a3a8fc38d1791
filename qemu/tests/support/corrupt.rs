//! Damages images on purpose.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

/// Writes a copy of `image` to `folder` in which `damage` was done to the bytes of the section.
pub fn copy(image: &Path, folder: &Path, section: &str, damage: impl FnOnce(&mut [u8])) -> PathBuf {
    let mut bytes = std::fs::read(image).expect("the image can be read");
    let (offset, size) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let section = file
            .section_by_name(section)
            .unwrap_or_else(|| panic!("the image has no {section}"));
        section.file_range().expect("the section is in the file")
    };
    let range = offset as usize..(offset + size) as usize;
    assert!(!range.is_empty(), "{section} is empty already");
    damage(&mut bytes[range]);
    let name = image.file_name().expect("an image has a name");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the copy can be written");
    path
}
