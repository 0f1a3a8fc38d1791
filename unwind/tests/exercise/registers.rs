//! What must hold for the registers of a frame.

use unwind::RegisterSet;

use super::start::Start;

pub fn registers<R: RegisterSet>(registers: &R, start: &Start<'_>) {
    let [pc, sp, fp, other] = start.registers;
    let caller = registers.caller(pc, sp, fp);
    assert_eq!((caller.pc(), caller.sp(), caller.fp()), (pc, sp, fp));
    assert!(registers.strip(registers.strip(other)) == registers.strip(other));
    assert!(R::sp_at(other).wrapping_sub(R::sp_at(0)) == other);
    for number in 0..64 {
        let mut learned = *registers;
        learned.learn(number, other);
        if learned.other(number) != registers.other(number) {
            assert_eq!(learned.other(number), Some(other));
        }
        assert!(learned.link() == registers.link() || learned.link() == Some(other));
        assert_eq!(
            (learned.pc(), learned.sp(), learned.fp()),
            (registers.pc(), registers.sp(), registers.fp())
        );
        let mut forgotten = learned;
        forgotten.forget(number);
        let still = forgotten.other(number);
        assert!(still.is_none() || still == learned.other(number));
        assert_eq!(
            (forgotten.pc(), forgotten.sp()),
            (learned.pc(), learned.sp())
        );
    }
}
