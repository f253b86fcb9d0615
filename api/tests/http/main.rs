//! The contact routes over real HTTP, decided in process by the contact machine on a plain map.
//!
//! Here: what a client sees. Not here: order and durability (`actors`), the rules themselves
//! (`domain`). Names of tests carry the rows of the acceptance table they show.

#[cfg(test)]
mod claims;
#[cfg(test)]
mod client;
#[cfg(test)]
mod context;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod declarations;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod effects;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod handoffs;
#[cfg(test)]
mod malformed;
#[cfg(test)]
mod mappings;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod no_plane;
#[cfg(test)]
mod node;
#[cfg(test)]
mod observed;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod paid;
#[cfg(test)]
mod privacy;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod rates;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod suppressions;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod wire;
#[cfg(test)]
mod world;
