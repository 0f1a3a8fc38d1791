//! Numbers in the byte order of the section.

use unwind::sframe::format;

use crate::code_checksums::CodeChecksums;
use crate::stack_pointers::StackPointers;

/// Bytes in the order of the section.
pub(crate) struct Out {
    pub(crate) bytes: Vec<u8>,
    pub(crate) little: bool,
}

impl Out {
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    pub(crate) fn size(&mut self, value: usize) {
        self.u32(u32::try_from(value).expect("a section of less than 4 GiB"));
    }

    /// Writes the checksums of the code for a table at this address; nothing if there are none.
    pub(crate) fn code_checksums(&mut self, code: &CodeChecksums, table: u64) {
        if code.ranges().is_empty() {
            return;
        }
        for (range, checksum) in code.ranges() {
            self.u64(range.start.wrapping_sub(table));
            self.size((range.end - range.start) as usize);
            self.u32(*checksum);
        }
        self.size(code.ranges().len());
        self.u32(format::CODE_MAGIC);
    }

    /// Writes the stack pointers of code without a caller for a table at this address; nothing if there are none.
    pub(crate) fn stack_pointers(&mut self, stack_pointers: &StackPointers, table: u64) {
        if stack_pointers.count() == 0 {
            return;
        }
        for (start, size, value) in stack_pointers.stored(table) {
            self.u64(start);
            self.u32(size);
            self.u64(value.wrapping_sub(table));
        }
        self.size(stack_pointers.count());
        self.u32(format::STACK_POINTER_MAGIC);
    }

    fn push<const N: usize>(&mut self, little: [u8; N], big: [u8; N]) {
        self.bytes
            .extend_from_slice(if self.little { &little } else { &big });
    }
}
