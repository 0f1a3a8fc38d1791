//! Sections that are compressed: they say how large they are when they are uncompressed, and nothing of that is true in a damaged file.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use object::{CompressionFormat, ObjectSection};

/// The most bytes that a byte of compressed data can stand for. Deflate: a match of 258 bytes takes two bits. Zstandard: a block of one byte
/// that is repeated takes 4 bytes and stands for 128 KiB.
const ZLIB: u64 = 258 * 4;
const ZSTANDARD: u64 = (128 << 10) / 4;

/// The bytes of a section, uncompressed. What it says of its size takes no memory if its bytes cannot be so many.
///
/// # Errors
/// Returns an error if the section is outside the file, or cannot be decompressed.
pub fn uncompressed<'data>(section: &object::Section<'data, '_>) -> Result<Cow<'data, [u8]>> {
    let compressed = section.compressed_data()?;
    let (claimed, size) = (compressed.uncompressed_size, compressed.data.len() as u64);
    let most = match compressed.format {
        CompressionFormat::Zlib => size.saturating_mul(ZLIB),
        CompressionFormat::Zstandard => size.saturating_mul(ZSTANDARD),
        _ => u64::MAX,
    };
    ensure!(
        claimed <= most,
        "the compressed section is damaged: {size} bytes cannot expand to {claimed} bytes, the size in its header"
    );
    Ok(compressed.decompress()?)
}
