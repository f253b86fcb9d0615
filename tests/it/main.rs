//! Real HTTP against the built server.
//!
//! Here: one file per subject, and the harness that starts, restarts and kills servers. Not here:
//! rules of a product that a table test in `domain` can show without a server.

mod backup;
mod batches;
mod clocks;
mod crashes;
mod damage;
mod disk;
mod facts;
mod first_start;
mod full;
mod gateway;
mod golden;
mod gone;
mod harness;
mod hostile;
mod kills;
mod linear;
mod list;
mod logs;
mod marks;
mod ownership;
mod pages;
mod paid;
mod plane;
mod privacy;
mod purges;
mod races;
mod rates;
mod raw;
mod recovery;
mod refusals;
mod reports;
mod sdk;
mod seeds;
mod shutdown;
mod signing;
mod sync_proof;
mod tls;
mod together;
mod unheard;
mod unread;
mod vault;
mod verbs;
mod who;
