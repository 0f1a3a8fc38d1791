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
//!    function. The end is that of a symbol with a size or of call frame information, never a border that a tool has made. Any other trap
//!    continues at the next instruction. In declared trap code, a call comes back.
//! 4. *What a function keeps.* At each way out the stack pointer, the return address and the registers that a callee keeps are compared with
//!    the entry. What is broken on any way is unknown behind calls.
//! 5. *Jump tables.* Each table that a function or a part of it names is one of each of its indirect jumps.
//! 6. *Jumps by a pointer.* With the state of an entry a jump is a call in the last place. If only such jumps may read a table, its entries
//!    are entered with an unknown state. Any other jump leads to its tables, to the blocks of its function, and to every instruction there
//!    that nothing else reaches; without a table, also to every function whose address is taken. After an indexed load, it leads only to its
//!    tables. A jump to a constant leads there.
//! 7. *Entries.* Direct calls; addresses of declared functions in code and data; declared functions that nothing reaches. An address inside
//!    of a function is entered with an unknown state. A symbol or call frame information declares a function; the start of rows does not.
//! 8. *Pushed addresses.* A return to a constant leads there. If a function is declared there, no row holds in it: a thunk may have called
//!    it, so that it has a frame of its own.
//! 9. *Code that nothing reaches* has the states of jumps by a pointer in its function, and of the call or trap before it; otherwise its
//!    state is unknown.
//! 10. *Trap code* is marked by call frame information, or leads to a return from a trap. What its first row says is claimed of its entry; a state that
//!     arrives there and is known to be otherwise refutes it. A row without a caller holds only where nothing arrives that was called:
//!     at the start of a function whose first row has no caller, a state without a stack pointer counts as without a caller.
//! 11. *Stores* to a known place overwrite the words there. Any other store, any callee, the kernel and the hypervisor make every word of
//!     the stack unknown, except those in which the caller's registers and the return address are kept.
//! 12. *Switches of stacks.* If an instruction loads the stack pointer, and the code after it runs without a branch or call to a return that
//!     matches the frame before the load, the loaded stack has that frame.
//! 13. Behind `cmp sp, r; b.ne` that is not taken, the stack pointer is `r`: loops that probe the stack.
//!
//! # Assumptions
//!
//! *Stores and the stack.*
//!
//! - Words in which a function keeps its caller's registers and return address are written only by stores to a known distance from the
//!   stack pointer. A store by a pointer, with an index, or of unknown size writes to its object. libgcc's `_Unwind_RaiseException` and
//!   `_Unwind_Resume` do not keep this.
//! - A stack pointer that was moved by an unknown number of bytes is below these words.
//! - In a program of an operating system, which has dynamic symbols or a table of initializers, 128 bytes below the stack pointer remain
//!   (x86-64). In a kernel the frame address is a multiple of 16.
//!
//! *Callees.*
//!
//! - Code that takes its stack pointer from memory, from a register of its caller, or from a sum that is not followed (a switch of tasks, a
//!   long jump) continues after a call as if the call had returned.
//! - A value that is only unknown at a way out is kept: ways with different stack pointers have lost it, or a jump is not followed.
//! - A function that is called by a pointer, and a function of another image, keep the calling convention.
//! - A call, a halt, a trap or a call of the system at the end of a declared function does not continue.
//! - The authentication of a return address succeeds (AArch64).
//! - Only calls throw. A handler of a trap or a signal resumes at the interrupted instruction, or at the next instruction.
//!
//! *Jumps.*
//!
//! - A jump by a pointer with the state of an entry, and a return to an address that was pushed and is not a constant, are calls in the last
//!   place, unless an indexed load is right before the jump, or no other jump reads a table that its function names.
//! - An address that code pushes and returns to is used for nothing else.
//! - Each entry of a table leads into its function or to the start of a function: a table has no holes. It is named by the function of its
//!   jump or by a part of this function. The target of an indexed load is in such a table, if there is one.
//! - A jump by a pointer in code without a caller, and any jump in code that the linker has made, calls a function.
//! - Code that nothing reaches, and that follows a call or a trap, is reached from there.
//!
//! *Entries.*
//!
//! - Of an image that is linked at a fixed address, each aligned word of data that is the address of an instruction may be one, and no other
//!   data is. In code, addresses are operands of moves, pushes, address computations and indexed loads.
//! - A function whose first row has no caller, and a label inside of it, is not called by a pointer. Trap code is entered as its first row
//!   says, unless the code shows otherwise.
//! - A function that code jumps to, and whose address is nowhere taken, is not called from another image.
//! - Code is not patched while it runs.

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
