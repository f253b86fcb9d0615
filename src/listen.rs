//! The address the server listens on.
//!
//! Here: that it is loopback unless the operator says otherwise, and that it is free, before
//! anything is made in the data directory. Not here: the server. Called by `serve`.

use std::io;
use std::net::SocketAddr;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

use crate::exit::{Exit, Stop};

/// An address that is ours: nobody else can take it while this lives.
#[derive(Debug)]
pub(crate) struct Reserved {
    /// With the real port, also when any was asked for.
    pub(crate) address: SocketAddr,
    _socket: OwnedFd,
}

/// Reads the setting. `safe` when TLS is spoken there, or the operator takes what is not.
///
/// # Errors
/// When it is no address, or one that would carry keys in the clear.
pub(crate) fn address(listen: &str, safe: bool) -> Result<SocketAddr, Stop> {
    let address: SocketAddr = listen.parse().map_err(|_| {
        let message =
            format!("listen {listen}: not an address and a port (such as 127.0.0.1:7440)");
        Stop::new(Exit::Listen, message)
    })?;
    if !is_loopback(address) && !safe {
        let message = format!(
            "listen {address}: beyond loopback keys and answers would cross the network in the \
             clear; give --tls-cert and --tls-key, or say --insecure-http"
        );
        return Err(Stop::new(Exit::Listen, message));
    }
    Ok(address)
}

/// Refuses an address that others can reach to a server whose clock is a test's: `/test/clock` needs no
/// key.
///
/// # Errors
/// When it is not loopback.
pub(crate) fn of_a_test(address: SocketAddr) -> Result<(), Stop> {
    if is_loopback(address) {
        return Ok(());
    }
    let message = format!(
        "listen {address}: with --test-clock whoever reaches this address could set the node's time \
         without a key; listen on loopback (such as 127.0.0.1:7440), or start without --test-clock"
    );
    Err(Stop::new(Exit::Listen, message))
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Takes the address without listening yet: a first start that finds its port taken must not have
/// made keys that it then cannot show. The server binds beside this socket, which both allow, and
/// as this one never listens it never gets a connection.
///
/// # Errors
/// When another process listens there, or the machine has no such address.
pub(crate) fn reserve(address: SocketAddr) -> Result<Reserved, Stop> {
    let taken = |error: Errno| {
        let why = if error == Errno::ADDRINUSE {
            "another process listens there; stop it, or choose another address with --listen"
                .to_owned()
        } else if error == Errno::ADDRNOTAVAIL {
            "this machine has no such address".to_owned()
        } else {
            io::Error::from(error).to_string()
        };
        Stop::new(Exit::Listen, format!("listen {address}: {why}"))
    };
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let bound = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .and_then(|socket| {
            set_socket_reuseaddr(&socket, true)?;
            bind(&socket, &address)?;
            let name = getsockname(&socket)?;
            Ok((socket, SocketAddr::try_from(name)?))
        })
        .map_err(taken)?;
    Ok(Reserved {
        address: bound.1,
        _socket: bound.0,
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn beyond_loopback_needs_the_operators_word() {
        for near in [
            "127.0.0.1:1",
            "[::1]:1",
            "127.9.9.9:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            let near = address(near, false).expect("loopback");
            assert!(of_a_test(near).is_ok(), "{near}");
        }
        for far in ["0.0.0.0:1", "[::]:1", "192.168.1.1:1"] {
            assert_eq!(address(far, false).unwrap_err().exit, Exit::Listen, "{far}");
            let far = address(far, true).expect("the operator's word");
            assert_eq!(of_a_test(far).unwrap_err().exit, Exit::Listen, "{far}");
        }
        assert!(address("localhost", false).is_err());
    }

    #[test]
    fn a_taken_port_is_refused_and_a_reserved_one_can_be_listened_on() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let stop = reserve(taken.local_addr().unwrap()).unwrap_err();
        assert!(stop.message.contains("another process listens there"));
        let reserved = reserve("127.0.0.1:0".parse().unwrap()).unwrap();
        assert_ne!(reserved.address.port(), 0);
        TcpListener::bind(reserved.address).unwrap();
    }
}
