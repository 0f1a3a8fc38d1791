//! Accepts a row of an unwind table only where each way through the code brings a state from which the row follows.
//!
//! Another program searches for rows, and may guess. The checker shares no fact with it: it gets the code and the rows. Nothing is decided
//! by values: a branch goes both ways, and a jump table has every entry that can be one.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`check`] | the one pass over all code that is trusted: compares claims with what one step brings, and rows with states |
//! | [`claims`] | what is claimed of the code, the search for claims, and whether they hold |
//! | [`row`] | what a row says, and whether it follows from a state |
//! | [`tables`], above [`graph`] | jump tables; all instructions, and where control goes from each |
//! | [`state`], above [`value`] | what is known before an instruction, and where ways meet |
//! | [`x86_64`], [`aarch64`], [`arm`] | decoders, to the form in [`instruction`] |
//! | [`architecture`], above [`program`] | a calling convention; an image's code and rows |
//!
//! # Rules
//!
//! 1. *Edges.* Control goes to the next instruction, to both targets of a branch, behind each call as if it returned, and into other
//!    symbols with the state that it brings. A call brings its target the state of an entry. Where ways meet, values that differ are
//!    unknown.
//! 2. *May return* is the least set: at first no function returns. A call is followed by the code behind it if a way out is reached from
//!    its target over calls that may return themselves.
//! 3. *Ends.* A call, a trap, a halt or a call of the system does not come back if nothing but padding lies between it and the end of its
//!    function. The end is that of a symbol with a size or of call frame information, never a border that a tool has made. In declared trap code, a
//!    call comes back.
//! 4. *What a function keeps.* At each way out the stack pointer, the return address and the registers that a callee keeps are compared with
//!    the entry. What is broken on any way is unknown behind calls.
//! 5. *Jump tables.* Each table that a function or a part of it names is one of each of its indirect jumps.
//! 6. *Jumps by a pointer.* With the state of an entry it is a call in the last place. Otherwise it leads to all code of its function that
//!    nothing else reaches; without such code and without a table, to every function whose address is taken.
//! 7. *Entries.* Direct calls; addresses of declared functions in code and data; declared functions that nothing reaches. An address inside
//!    of a function is entered with an unknown state.
//! 8. *Pushed addresses.* A return to an address of code that was pushed leads there.
//! 9. *Code that nothing reaches* has the states of jumps by a pointer in its function, and of the call or trap before it; otherwise its
//!    state is unknown.
//! 10. *Trap code* is declared as such, and leads to a return from a trap. What its first row says is claimed of its entry; a state that
//!     arrives there and is known to be otherwise refutes it. A row without a caller holds only where nothing arrives that was called.
//! 11. *Stores* to a known place overwrite the words there. Any other store, and any callee, makes every word of the stack unknown but
//!     those in which the caller's registers and the return address are kept.
//! 12. *Switches of stacks.* If an instruction loads the stack pointer, and the code after it runs without a branch or call to a return that
//!    matches the frame before the load, the loaded stack has that frame.
//! 13. Behind `cmp sp, r; b.ne` that is not taken, the stack pointer is `r`: loops that probe the stack.
//!
//! # Assumptions
//!
//! - Nobody writes to where a function keeps its caller's registers and return address, but by the stack pointer, the frame pointer and
//!   what is counted from them. libgcc's `_Unwind_RaiseException` and `_Unwind_Resume` do.
//! - Code that loads its stack pointer (a switch of tasks, a long jump) goes on behind a call as if that had returned.
//! - What is only unknown at a way out is kept: a value that ways with different stack pointers have lost, or a jump that is not followed.
//! - Trap code is entered as its first row says, unless the code shows otherwise.
//! - The direction flag is clear (x86-64). Code is not patched while it runs.
//! - Of an image that is linked at a fixed address, each aligned word of data that is the address of an instruction may be one, and no other
//!   data is.

pub mod aarch64;
pub mod architecture;
pub mod arm;
pub mod check;
pub mod claims;
pub mod graph;
pub mod instruction;
pub mod program;
pub mod row;
pub mod state;
pub mod tables;
pub mod value;
pub mod x86_64;
