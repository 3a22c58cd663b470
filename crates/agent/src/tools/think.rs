//! `sequential_thinking`: a thought is written down; the log is where.

use serde_json::json;

use super::Said;
use super::action::Thought;

pub(super) fn think(thought: &Thought) -> Said {
    let mut status = json!({
        "thought_number": thought.thought_number,
        "total_thoughts": thought.total_thoughts.max(thought.thought_number),
        "next_thought_needed": thought.next_thought_needed,
    });
    if let Some(branch) = &thought.branch_id {
        status["branch_id"] = json!(branch);
    }
    Said::done(status.to_string())
}
