//! The generator's random numbers: one SplitMix64 stream per connection, so that a seed names the
//! customers and objects a run asks about. Not for anything secret.

/// A SplitMix64 stream.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The stream of one connection; streams of different connections do not overlap in practice.
    pub(crate) const fn new(seed: u64, connection: u64) -> Self {
        Self {
            state: seed
                ^ connection
                    .wrapping_add(1)
                    .wrapping_mul(0xA076_1D64_78BD_642F),
        }
    }

    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        let wide = (self.next() as u128) * (bound as u128);
        (wide >> 64) as u64
    }

    /// A number from 0 to below 1.
    pub(crate) const fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Numbers below a bound of which few come often: the rank's share falls with its power, as the
/// contacts of real customers do. The distribution is the continuous one, rounded down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipf {
    bound: u64,
    /// 1 minus the exponent.
    left: f64,
    /// What the density integrates to, up to the bound.
    whole: f64,
}

impl Zipf {
    /// Below `bound`, by an exponent above 0 that is not exactly 1.
    pub(crate) fn new(bound: u64, exponent: f64) -> Self {
        let left = 1.0 - exponent;
        Self {
            bound,
            left,
            whole: ((bound + 1) as f64).powf(left) - 1.0,
        }
    }

    /// The next one; 0 comes most often.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let share = random.share();
        let rank = (1.0 + share * self.whole).powf(1.0 / self.left);
        (rank as u64).saturating_sub(1).min(self.bound - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_connections_differ() {
        let draw = |seed, connection| {
            let mut random = Random::new(seed, connection);
            (0..4).map(|_| random.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn few_numbers_come_often() {
        let (zipf, mut random) = (Zipf::new(1_000_000, 1.1), Random::new(1, 0));
        let mut first = 0;
        let mut far = 0;
        for _ in 0..10_000 {
            let drawn = zipf.draw(&mut random);
            assert!(drawn < 1_000_000);
            first += u32::from(drawn == 0);
            far += u32::from(drawn > 1_000);
        }
        assert!((700..1_200).contains(&first), "{first}");
        assert!((1_000..5_000).contains(&far), "{far}");
        let one = Zipf::new(1, 1.1);
        assert!((0..100).all(|_| one.draw(&mut random) == 0));
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::new(1, 0);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert!((0..1000).all(|_| random.below(1) == 0));
    }
}
