//! What a whole run may cost: counted reply by reply, looked at before each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::ports::{Fragment, Head, Model, Request, Shape};
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{ModelFailureKind, Reply, Turn};

use crate::dispatcher::Reports;

/// Money is counted in billionths of a dollar, so that a sum of many small costs stays exact.
const PARTS: f64 = 1e9;

/// What the run may cost and what it has cost.
#[derive(Debug)]
pub struct Budget {
    limit: Option<u64>,
    spent: AtomicU64,
}

impl Budget {
    /// A budget of `limit` US dollars, of which `spent` are gone.
    pub fn new(limit: Option<f64>, spent: f64) -> Self {
        Self {
            limit: limit.map(parts),
            spent: AtomicU64::new(parts(spent)),
        }
    }

    fn spend(&self, cost: Option<f64>) {
        let cost = cost.map_or(0, parts);
        self.spent.fetch_add(cost, Ordering::Relaxed);
    }

    fn is_spent(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.spent.load(Ordering::Relaxed) >= limit)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and costs are not negative"
)]
fn parts(dollars: f64) -> u64 {
    (dollars * PARTS) as u64
}

/// A model whose replies are paid from the budget. Once that is spent it asks nothing more: what a run costs beyond its limit is at most what was being
/// answered then.
pub struct Metered {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// Who pays.
    pub budget: Arc<Budget>,
    /// The way to the dispatcher, which ends the run.
    pub reports: Reports,
}

impl Metered {
    /// Waits for the end that the dispatcher brings.
    async fn refuse(&self, request: &Request) -> ModelFailure {
        self.reports.budget_spent().await;
        request.cancel.cancelled().await;
        ModelFailure {
            kind: Some(ModelFailureKind::Timeout),
            message: String::from("the run has spent what it may"),
            retries: Vec::new(),
            waited_ms: 0,
        }
    }
}

impl Model for Metered {
    fn head(&self, head: &Head) -> Fragment {
        self.model.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        self.model.turn(turn, shape)
    }

    fn window(&self) -> Option<u64> {
        self.model.window()
    }

    fn max_output(&self) -> Option<u64> {
        self.model.max_output()
    }

    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            if self.budget.is_spent() {
                return Err(self.refuse(&request).await);
            }
            let reply = self.model.query(request).await?;
            self.budget.spend(reply.usage.cost);
            if self.budget.is_spent() {
                self.reports.budget_spent().await;
            }
            Ok(reply)
        })
    }
}
