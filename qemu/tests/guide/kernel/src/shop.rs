//! What goes wrong.

use crate::println;

/// Serves so many customers.
pub fn serve(customers: u64) {
    for customer in 1..=customers {
        println!("customer {customer}");
        sell(customer);
    }
}

#[inline(never)]
fn sell(customer: u64) {
    let price = price_on(shelf(customer));
    println!("that is {price}");
}

/// The third shelf is beyond what is mapped.
fn shelf(customer: u64) -> *const u64 {
    (if customer < 3 { 0x10_0000 } else { 0x70_0000_0000_u64 }) as *const u64
}

#[inline]
fn price_on(shelf: *const u64) -> u64 {
    // SAFETY: none, which is what this kernel is about.
    unsafe { shelf.read_volatile() % 10 }
}
