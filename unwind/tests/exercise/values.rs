//! The small types.

use unwind::sframe::Abi;
use unwind::symbols::format::{self, Promise};
use unwind::{Code, Range};

/// Asks them for any numbers.
pub fn values([start, end, address, size]: [u64; 4]) {
    let range = Range::new(start, end);
    let last = address.checked_add(size);
    let inside = start <= address && last.is_some_and(|last| last <= end);
    assert_eq!(range.holds(address, size), inside);
    assert_eq!(
        range.holds_stack_pointer(address),
        (start..=end).contains(&address)
    );
    assert_eq!(Code::without_bytes(range).range(), range);
    let (bytes, after) = ([0; 16], start.saturating_add(16));
    assert_eq!(Code::new(&bytes, start).range(), Range::new(start, after));
    let [byte, ..] = address.to_le_bytes();
    if let Some(abi) = Abi::from_header(byte) {
        assert!((1..=4).contains(&byte), "{abi:?}");
    }
    let Promise {
        calls,
        faults,
        elsewhere,
        ..
    } = format::promise(byte);
    let _ = (calls, faults, elsewhere);
}
