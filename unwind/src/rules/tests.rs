//! Rules that are packed and unpacked again.

extern crate std;

use super::*;

#[test]
fn every_rule_is_told_again() {
    let bases = [
        Base::Cfa,
        Base::StackPointer,
        Base::FramePointer,
        Base::Register(0),
        Base::Register(u32::MAX),
    ];
    for base in bases {
        for offset in [0, 8, -16, i64::MIN, i64::MAX] {
            for rule in [Rule::Value { base, offset }, Rule::Saved { base, offset }] {
                assert_eq!(Packed::new(rule).rule(), rule);
                let text = std::format!("{:?}", Packed::new(rule));
                assert_eq!(text, std::format!("{rule:?}"));
            }
        }
    }
    for rule in [Rule::Same, Rule::Undefined] {
        assert_eq!(Packed::new(rule).rule(), rule);
    }
    let saved = |base| Packed::new(Rule::Saved { base, offset: -8 });
    assert_eq!(saved(Base::Cfa), Packed::saved_at_cfa(-8));
    let value = |base| Packed::new(Rule::Value { base, offset: 8 });
    assert_eq!(value(Base::StackPointer), Packed::above(true, 8));
    assert_eq!(value(Base::FramePointer), Packed::above(false, 8));
}

#[test]
fn the_mark_of_a_signed_return_address_changes_no_rule() {
    let saved = |offset| Rule::Saved {
        base: Base::Cfa,
        offset,
    };
    let cfa = Rule::Value {
        base: Base::StackPointer,
        offset: 96,
    };
    for frame_pointer in [Rule::Same, saved(-96)] {
        let plain = Rules::new(cfa, saved(-88), frame_pointer);
        let signed = plain.with_signed(true);
        assert!(signed.is_signed() && !plain.is_signed() && plain != signed);
        assert_eq!(signed.with_signed(false), plain);
        assert_eq!(signed.simple_saved(), plain.simple_saved());
        assert_eq!(signed.cfa(), cfa);
        assert_eq!(signed.return_address(), saved(-88));
        assert_eq!(signed.frame_pointer(), frame_pointer);
        let narrow = [plain, signed].map(|rules| rules.narrow().expect("small offsets"));
        assert!(narrow.iter().all(|word| word & Rules::FREE == 0));
        assert_eq!(narrow.map(Rules::of_narrow), [plain, signed]);
    }
}
