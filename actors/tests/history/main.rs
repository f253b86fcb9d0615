//! History over whole nodes and over random crashes: of every acknowledged command there is one note,
//! in the journal or in history, whatever was truncated meanwhile. Also here, over the same nodes: the
//! bound of a part of a space.

mod node;
mod tickets;
mod walk;
