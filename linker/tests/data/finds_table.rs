//! A program that looks for its own `.sframe` as an unwinder would: by the program headers that its loader knows.

use std::ffi::{c_int, c_void};

/// `struct dl_phdr_info` of 64-bit ELF systems, as far as it is looked at.
#[repr(C)]
struct Info {
    base: u64,
    name: *const i8,
    headers: *const Header,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    alignment: u64,
}

const PT_GNU_SFRAME: u32 = 0x6474_e554;

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

extern "C" fn look(info: *const Info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: the C library calls this with a structure that is valid during the call.
    let info = unsafe { &*info };
    // SAFETY: it says how many headers there are.
    let headers = unsafe { std::slice::from_raw_parts(info.headers, info.count.into()) };
    for header in headers.iter().filter(|header| header.kind == PT_GNU_SFRAME) {
        let address = info.base.wrapping_add(header.address) as *const u16;
        // SAFETY: the segment is loaded, or this is where the test fails.
        let magic = unsafe { address.read() };
        println!("{magic:#x}, {} bytes", header.memory_size);
    }
    // The first is the program itself.
    1
}

fn main() {
    // SAFETY: the callback has the signature that is wanted, and needs no data.
    unsafe { dl_iterate_phdr(look, std::ptr::null_mut()) };
}
