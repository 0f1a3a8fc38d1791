//! Writes the kernels of the guide.

use std::path::Path;

pub use qemu::template::KERNELS;

/// Writes all files of a kernel to a folder.
pub fn write(kernel: &str, folder: &Path) {
    qemu::template::write(kernel, folder).expect("the guide has the kernel");
}
