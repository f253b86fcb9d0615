//! An input as the numbers and bytes a property is made from. What is missing reads as zero, so that
//! any input is one.

/// What is left of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let there = self.bytes(N);
        taken[..there.len()].copy_from_slice(there);
        taken
    }

    /// At most so many bytes.
    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }

    /// A place in something of this length, which is at least 1.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::from(self.u16()) % length
    }

    /// A byte that changes another.
    pub(crate) fn flip(&mut self) -> u8 {
        self.u8().max(1)
    }
}
