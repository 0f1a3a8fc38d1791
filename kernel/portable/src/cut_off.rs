//! How a log frame on the serial line is marked that was cut off.

/// Is sent, with a zero byte behind it, after the part that was sent of a frame, when the rest will not follow.
///
/// Without a mark some frames that were cut off decode as whole ones with other numbers: an encoded frame is read from its last byte
/// on (`rzcobs`), and any byte may be one that says how many zero bytes to fill in. 255 says that 134 bytes stand before it, so
/// every decoder refuses a shorter frame. In a longer one the count may come out by chance: a decoder should refuse each frame that
/// ends so. One that was sent whole does so only if its last 134 bytes have no zero and 255 is the last.
pub const CUT_OFF: [u8; 2] = [0xff; 2];
