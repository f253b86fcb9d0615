//! One number, however it is written: as machines write it, it takes a shorter way to the same text.

use interlock_token::canonical;
use proptest::prelude::*;

proptest! {
    /// A space before the number is what people write, and is read away.
    #[test]
    fn a_number_written_by_a_machine_reads_as_one_written_by_a_person(
        digits in "(55|52|521|54|549|0|1|49)?[0-9]{0,16}",
    ) {
        let machine = format!("+{digits}");
        let person = format!(" {machine}");
        prop_assert_eq!(
            canonical("phone_e164", &machine),
            canonical("phone_e164", &person)
        );
    }
}

#[test]
fn a_number_written_by_a_machine_is_still_respelled() {
    let of = |value| canonical("phone_e164", value);
    let phone = |text: &str| Ok(text.to_owned());
    assert_eq!(of("+551187654321"), phone("phone:+5511987654321"));
    assert_eq!(of("+5215512345678"), phone("phone:+525512345678"));
    assert_eq!(of("+15550100001"), phone("phone:+15550100001"));
    for none in ["+", "+0123456789", "+1234567", "+1234567890123456"] {
        assert!(of(none).is_err(), "{none}");
    }
}
