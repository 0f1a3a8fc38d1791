//! A dump as gdb sees it: a machine that never goes on, with a thread for each CPU.

use anyhow::{Error, Result, anyhow};
use gdbstub::arch::{Arch, Registers};
use gdbstub::common::{Signal, Tid};
use gdbstub::conn::ConnectionExt;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{GdbStub, MultiThreadStopReason};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSingleStep,
    MultiThreadSingleStepOps,
};
use gdbstub::target::ext::section_offsets::{Offsets, SectionOffsets, SectionOffsetsOps};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};

use crate::dump::Remains;
use crate::hardware::Processor as Hardware;
use crate::machine::PIECE;
use crate::stub::general;

type Connection = Box<dyn ConnectionExt<Error = std::io::Error>>;

/// Answers gdb until it leaves.
///
/// # Errors
/// When the connection fails.
pub(super) fn answer(remote: &mut Remote, connection: Connection) -> Result<()> {
    let stub = GdbStub::new(connection);
    match stub.run_blocking::<Waiting>(remote) {
        Ok(_) => Ok(()),
        Err(error) => Err(anyhow!("gdb: {error}")),
    }
}

/// A dump of a machine like this, whose image lies `moved_by` bytes above the addresses that it was linked for.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) dump: Box<dyn Remains>,
    pub(super) arch: Hardware,
    pub(super) moved_by: u64,
}

/// The number of the CPU that is this thread. gdb's numbers begin with 1.
fn cpu(thread: Tid) -> usize {
    thread.get() - 1
}

/// Of a processor of 64 bits, whichever the image is for: gdb knows that from the image.
pub(super) enum Processor {}

impl Arch for Processor {
    type Usize = u64;
    type Registers = General;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The general registers, in gdb's order, as they lie in memory, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct General(Vec<Option<u8>>);

impl Registers for General {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        // Only for breakpoints, of which there are none.
        0
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.0.iter().for_each(|byte| write_byte(*byte));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.0 = bytes.iter().copied().map(Some).collect();
        Ok(())
    }
}

impl Target for Remote {
    type Arch = Processor;
    type Error = Error;

    fn base_ops(&mut self) -> BaseOps<'_, Processor, Error> {
        BaseOps::MultiThread(self)
    }

    fn support_section_offsets(&mut self) -> Option<SectionOffsetsOps<'_, Self>> {
        Some(self)
    }

    /// gdb would write breakpoints, and is told that it cannot.
    fn guard_rail_implicit_sw_breakpoints(&self) -> bool {
        true
    }
}

impl MultiThreadBase for Remote {
    fn read_registers(&mut self, registers: &mut General, thread: Tid) -> TargetResult<(), Self> {
        let named = self.dump.registers(cpu(thread));
        registers.0 = general(self.arch, &named.unwrap_or_default());
        Ok(())
    }

    fn write_registers(&mut self, _: &General, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn read_addrs(&mut self, from: u64, to: &mut [u8], thread: Tid) -> TargetResult<usize, Self> {
        let (mut read, mut last) = (0, None);
        while read < to.len() {
            let address = from.wrapping_add(read as u64);
            if !self.dump.knows(address & !7, 8) {
                break;
            }
            let begin = address / PIECE * PIECE;
            let piece = match last.take() {
                Some((start, piece)) if start == begin => Some(piece),
                _ => self.dump.piece(cpu(thread), address),
            };
            let Some(piece) = piece else {
                break;
            };
            // As far as a word goes, of which all is known or nothing.
            let rest = &piece[(address - begin) as usize..((address & !7) - begin + 8) as usize];
            let count = rest.len().min(to.len() - read);
            to[read..read + count].copy_from_slice(&rest[..count]);
            read += count;
            last = Some((begin, piece));
        }
        match read {
            0 => Err(TargetError::NonFatal),
            _ => Ok(read),
        }
    }

    fn write_addrs(&mut self, _: u64, _: &[u8], _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn list_active_threads(&mut self, found: &mut dyn FnMut(Tid)) -> Result<()> {
        let count = self.dump.cpus()?.len();
        (1..=count).filter_map(Tid::new).for_each(found);
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

/// So that gdb finds the names of an image that a loader has moved.
impl SectionOffsets for Remote {
    fn get_section_offsets(&mut self) -> Result<Offsets<u64>> {
        Ok(Offsets::Sections {
            text: self.moved_by,
            data: self.moved_by,
            bss: None,
        })
    }
}

/// gdb asks for this before it asks for threads. A dump stays where it is.
impl MultiThreadResume for Remote {
    fn resume(&mut self) -> Result<()> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<()> {
        Ok(())
    }

    fn set_resume_action_continue(&mut self, _: Tid, _: Option<Signal>) -> Result<()> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }
}

/// Without it a step would end the session.
impl MultiThreadSingleStep for Remote {
    fn set_resume_action_step(&mut self, _: Tid, _: Option<Signal>) -> Result<()> {
        Ok(())
    }
}

impl ThreadExtraInfo for Remote {
    fn thread_extra_info(&self, thread: Tid, text: &mut [u8]) -> Result<usize> {
        let said = format!("CPU {}", cpu(thread));
        let count = said.len().min(text.len());
        text[..count].copy_from_slice(&said.as_bytes()[..count]);
        Ok(count)
    }
}

/// Why the first CPU does not go on.
const STOPPED: MultiThreadStopReason<u64> = MultiThreadStopReason::SignalWithThread {
    tid: Tid::MIN,
    signal: Signal::SIGSTOP,
};

/// Waits for a machine that never goes on.
enum Waiting {}

impl BlockingEventLoop for Waiting {
    type Target = Remote;
    type Connection = Connection;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        _: &mut Remote,
        _: &mut Connection,
    ) -> Result<Event<Self::StopReason>, WaitForStopReasonError<Error, std::io::Error>> {
        Ok(Event::TargetStopped(STOPPED))
    }

    fn on_interrupt(_: &mut Remote) -> Result<Option<Self::StopReason>, Error> {
        Ok(Some(STOPPED))
    }
}
