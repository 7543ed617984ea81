//! Calls of the two tools that stand for the capabilities that `tools/list` leaves out: one is a search, the other becomes
//! the call of another capability.

use super::{
    call,
    envelope::{self, INVALID_PARAMS, Problem},
    message::Request,
    protocol::Era,
    tools::Tools,
};

/// The capabilities that a search finds, as the members of a result.
///
/// # Errors
///
/// There is no such tool, or the arguments are not valid.
pub(super) fn found(tools: &Tools, request: &Request) -> Result<String, Problem> {
    let unknown = || Problem::new(INVALID_PARAMS, "There is no such tool. See tools/list.".into());
    let finder = tools.finder().ok_or_else(unknown)?;
    Ok(envelope::members(finder.found(&call::arguments(request)?)?))
}

/// The same request; a call by name as the call of the named capability.
///
/// # Errors
///
/// The call names no capability.
pub(super) fn resolved(tools: &Tools, read: Option<(Request, Era)>) -> Result<Option<(Request, Era)>, Problem> {
    let Some((mut request, era)) = read else { return Ok(None) };
    if is_call(tools, &request) {
        let called = request.call_by_name();
        called.map_err(|problem| problem.to(&request).in_era(era))?;
    }
    Ok(Some((request, era)))
}

/// Whether a call is that of a capability by its name.
pub(super) fn is_call(tools: &Tools, request: &Request) -> bool {
    tools.finder().is_some_and(|finder| request.tool() == Some(&finder.call))
}

/// Whether a call is a search for capabilities.
pub(super) fn is_search(tools: &Tools, request: &Request) -> bool {
    tools.finder().is_some_and(|finder| request.tool() == Some(&finder.find))
}
