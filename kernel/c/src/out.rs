//! The kernel's function for characters, and text from C.

use core::ffi::{CStr, c_char};
use core::fmt::{self, Display, Formatter, Write};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// C's `void (*)(char)`, which may be null.
pub type PutChar = Option<unsafe extern "C" fn(c_char)>;

/// The [`PutChar`] of the report that began last.
static LAST: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// The kernel's function that writes a character.
#[derive(Clone, Copy, Debug)]
pub struct Out(PutChar);

impl Out {
    /// # Safety
    /// The caller must guarantee that the function can be called as long as the kernel runs.
    pub unsafe fn new(put_char: PutChar) -> Self {
        let pointer = put_char.map_or(null_mut(), |function| function as *mut ());
        LAST.store(pointer, Ordering::Relaxed);
        Self(put_char)
    }

    /// The writer of the report that began last.
    pub fn last() -> Self {
        let pointer = LAST.load(Ordering::Relaxed);
        // SAFETY: `new` has stored it: null, or a function of this type.
        Self(unsafe { transmute::<*mut (), PutChar>(pointer) })
    }
}

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some(put_char) = self.0 else {
            return Ok(());
        };
        for byte in text.bytes() {
            // SAFETY: the caller of `new` guarantees it.
            unsafe { put_char(c_char::from_ne_bytes([byte])) };
        }
        Ok(())
    }
}

/// Text that ends with a zero byte, in any encoding.
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// # Safety
    /// The caller must guarantee that the pointer is null, or leads to a text that ends with a zero byte and stays as it is during the use.
    pub const unsafe fn new(text: *const c_char) -> Self {
        Self(text)
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_null() {
            return Ok(());
        }
        // SAFETY: the caller of `new` guarantees it.
        let text = unsafe { CStr::from_ptr(self.0) };
        for chunk in text.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}
