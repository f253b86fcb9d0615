//! The query of a request: what a route does not know is refused, as it is in a body.
//!
//! Here: the names alone. Not here: what their values may be (the routes). Called by the routes that
//! take a query.

use crate::problem::Failure;

/// Refuses a query that has a member beside `known`.
///
/// # Errors
/// 422, with the members there are; what was sent is not repeated.
pub(crate) fn only(query: &str, known: &[&str]) -> Result<(), Failure> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = pairs.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    if names.all(|name| known.contains(&name)) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    Err(Failure::invalid(format!(
        "the query has a member that this route does not take; it takes {}",
        known.join(" and ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_members_only() {
        let known = ["cursor", "limit"];
        for query in ["", "limit=7", "limit=7&cursor=x", "cursor=a=b", "&limit=7&"] {
            assert!(only(query, &known).is_ok(), "{query}");
        }
        for query in [
            "limits=7",
            "limit=7&day=3",
            "Limit=7",
            "=7",
            "day",
            "%6cimit=7",
        ] {
            let refused = only(query, &known).expect_err(query);
            let detail = &refused.detail;
            assert!(detail.contains("`cursor` and `limit`"), "{detail}");
            assert!(
                !detail.contains("day"),
                "what was sent is repeated: {detail}"
            );
        }
    }
}
