//! The mark of a log frame on the serial line that was cut off.

/// The mark of a log frame that was cut off. The kernel sends it, with a zero byte after it, after the part of the frame that was sent,
/// when the rest will not follow.
///
/// Without the mark, some frames that were cut off would decode as whole frames with other numbers: a decoder reads an encoded frame from
/// its last byte on (`rzcobs`), and any byte may be a count of zero bytes to insert. 255 means that 134 bytes precede it, so every decoder
/// refuses a shorter frame. In a longer frame the count may be right by chance; therefore a decoder should refuse each frame with this end.
/// A frame that was sent whole has this end only if its last 134 bytes contain no zero and 255 is the last.
pub const CUT_OFF: [u8; 2] = [0xff; 2];
