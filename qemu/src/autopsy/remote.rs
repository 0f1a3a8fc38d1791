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

use crate::dump::Dump;
use crate::machine::{PIECE, Source};

type Connection = Box<dyn ConnectionExt<Error = std::io::Error>>;

/// Answers gdb until it leaves. The image lies `moved_by` bytes above the addresses that it was linked for.
///
/// # Errors
/// When the connection fails.
pub(super) fn answer(dump: Dump, moved_by: u64, connection: Connection) -> Result<Dump> {
    let mut remote = Remote { dump, moved_by };
    let stub = GdbStub::new(connection);
    match stub.run_blocking::<Waiting>(&mut remote) {
        Ok(_) => Ok(remote.dump),
        Err(error) => Err(anyhow!("gdb: {error}")),
    }
}

#[derive(Debug)]
struct Remote {
    dump: Dump,
    moved_by: u64,
}

/// The number of the CPU that is this thread. gdb's numbers begin with 1.
fn cpu(thread: Tid) -> usize {
    thread.get() - 1
}

/// Of a processor of 64 bits, whichever the image is for: gdb knows that from the image.
enum Processor {}

impl Arch for Processor {
    type Usize = u64;
    type Registers = General;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The general registers, in gdb's order, as they lie in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct General(Vec<u8>);

impl Registers for General {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        // Only for breakpoints, of which there are none.
        0
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.0.iter().for_each(|byte| write_byte(Some(*byte)));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.0 = bytes.to_vec();
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
        registers.0 = self.dump.general(cpu(thread)).map_err(TargetError::Fatal)?;
        Ok(())
    }

    fn write_registers(&mut self, _: &General, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn read_addrs(&mut self, from: u64, to: &mut [u8], thread: Tid) -> TargetResult<usize, Self> {
        let mut read = 0;
        while read < to.len() {
            let address = from.wrapping_add(read as u64);
            let Some(piece) = self.dump.piece(cpu(thread), address) else {
                break;
            };
            let rest = &piece[(address % PIECE) as usize..];
            let count = rest.len().min(to.len() - read);
            to[read..read + count].copy_from_slice(&rest[..count]);
            read += count;
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
