//! What each command takes.

mod images;
mod validate;

pub use images::{Images, ImagesCommand, ImagesList, ImagesPrune, ImagesPull};
pub use validate::Validate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::layers::Options;
use crate::layers::options;
use crate::plan::GradeSelection;
use crate::predictions::Duplicates;

/// A SWE-bench-style batch task runner: a dataset of issues in; patches, trajectories, predictions and verdicts out
#[derive(Debug, Parser)]
#[command(name = "runner", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A bar on a terminal, plain lines elsewhere
    #[default]
    Auto,
    /// A bar, and a line for each running instance
    Bar,
    /// A line for each finished instance
    Plain,
    /// Nothing
    None,
}

/// What stdout holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    #[default]
    Human,
    /// One JSON object
    Json,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Global {
    /// What stdout holds; everything else goes to stderr
    #[arg(long, global = true, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// How progress is shown
    #[arg(long, global = true, value_name = "HOW", default_value = "auto")]
    pub progress: Progress,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Say more: -v what happens, -vv every step
    #[arg(long, short, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Say nothing but errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// Where settings come from besides flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct Config {
    /// Preset by name, or file by path; given several times, later ones win
    #[arg(long, short, value_name = "NAME|FILE")]
    pub config: Vec<String>,
    /// Any setting by its key, such as `max_steps=50` or `extra_body.top_p=0.9`
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve the issues of a dataset, or one issue in one repository
    Run(Box<Run>),
    /// Grade the patches of a run, or of a predictions file
    Grade(Box<Grade>),
    /// Try the known patch and the unchanged tree of each instance, and say which instances can be relied on
    Validate(Box<Validate>),
    /// Write the reports of a run anew from its journals, and show them
    Report(Report),
    /// Bring a run into a form that others want
    Export(Export),
    /// Do again what trajectories recorded, and say where it goes another way
    Replay(Box<Replay>),
    /// Show, get and remove container images
    Images(Images),
    /// Open a shell in a sandbox that a run kept
    Shell(Shell),
    /// Remove what runs that died left on this machine
    Clean(Clean),
    /// Say what this machine has, what it lacks, and how to mend it
    Doctor(Doctor),
}

/// `runner shell`.
#[derive(Debug, Args)]
pub struct Shell {
    /// Directory of the run, which was made with `--keep-sandbox`
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Instance, whose newest kept sandbox it is, or the name of a sandbox [default: list those that are kept]
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Root of the sandboxes' private directories [default: the run's]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub scratch: Option<PathBuf>,
}

/// `runner clean`.
#[derive(Debug, Args)]
pub struct Clean {
    /// Also what runs that ended, or died, kept with `--keep-sandbox`
    #[arg(long)]
    pub kept: bool,
    /// Say what would be removed, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Root of the sandboxes' private directories, as the runs had it [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub scratch: Option<PathBuf>,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}

/// `runner doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Where runs would be kept [default: runs]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}

/// `runner run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Settings that files and variables can hold too.
    #[command(flatten)]
    pub options: Options,
    /// Where else settings come from.
    #[command(flatten)]
    pub config: Config,
    /// What concerns this command line alone.
    #[command(flatten)]
    pub once: Once,
    /// Print every setting that applies with its origin, and stop
    #[arg(long, help_heading = "Configuration")]
    pub print_config: bool,
}

/// How an existing run directory is taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Resume {
    /// Unfinished attempts start again, clean
    Restart,
    /// Unfinished attempts do again what was recorded, then go on
    Replay,
}

/// Flags that no file holds, since they mean one run.
#[derive(Debug, Clone, Default, Args)]
pub struct Once {
    /// Repository to work on, instead of a dataset: a work tree, a bare repository or a bundle
    #[arg(long, help_heading = "One issue in one repository", value_name = "PATH", value_hint = ValueHint::AnyPath, requires = "task", conflicts_with = "dataset")]
    pub repo: Option<PathBuf>,
    /// File with the text, `-` for standard input
    #[arg(long, help_heading = "One issue in one repository", value_name = "FILE", value_hint = ValueHint::FilePath, requires = "repo")]
    pub task: Option<PathBuf>,
    /// Put the patch into the work tree when the attempt completed and the patch applies cleanly
    #[arg(long, help_heading = "One issue in one repository", requires = "repo")]
    pub apply: bool,
    /// Go on with the run in `--out`
    #[arg(long, help_heading = "Run", value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "restart")]
    pub resume: Option<Resume>,
    /// Give finished instances a new attempt: `infra`, `failed`, `empty`, `stopped[:REASON]`, `unresolved`, `cancelled`, or an id
    #[arg(
        long,
        help_heading = "Run",
        value_name = "WHICH",
        value_delimiter = ',',
        requires = "resume"
    )]
    pub retry: Vec<String>,
    /// Say what would be done, and stop
    #[arg(long, help_heading = "Run")]
    pub dry_run: bool,
}

/// Which patches are graded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Those that no grading was concluded for
    #[default]
    Ungraded,
    /// Those without a verdict
    Unscored,
    /// Those whose last grading failed
    Infra,
    /// All, again
    All,
}

impl From<Only> for GradeSelection {
    fn from(only: Only) -> Self {
        match only {
            Only::Ungraded => Self::Ungraded,
            Only::Unscored => Self::Unscored,
            Only::Infra => Self::Infra,
            Only::All => Self::All,
        }
    }
}

/// Which of several predictions for one instance counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DuplicateRule {
    /// None: predictions that differ are an error
    #[default]
    Refuse,
    /// The first
    First,
    /// The last
    Last,
}

impl From<DuplicateRule> for Duplicates {
    fn from(rule: DuplicateRule) -> Self {
        match rule {
            DuplicateRule::Refuse => Self::Refuse,
            DuplicateRule::First => Self::First,
            DuplicateRule::Last => Self::Last,
        }
    }
}

/// A log that somebody else's run left, judged without a sandbox.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "A log alone")]
pub struct Offline {
    /// Judge this log of an evaluation script, `-` for standard input; `--format json` prints the official report
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath, requires = "instance")]
    pub test_output: Option<PathBuf>,
    /// Where the instance's row is: a dataset in any form that --dataset takes, or the directory of a task
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "test_output")]
    pub instance: Option<PathBuf>,
    /// Which row, where there are several [default: by --ids and its like, else the one whose id is in the log's path]
    #[arg(long, value_name = "ID", requires = "instance")]
    pub instance_id: Option<String>,
    /// Parser of the log, whatever the row says
    #[arg(long, value_name = "NAME", requires = "test_output")]
    pub log_parser: Option<String>,
    /// The patch that was graded; `none` says that the prediction was `null`
    #[arg(long = "patch", id = "graded_patch", value_name = "FILE|none", value_hint = ValueHint::FilePath, requires = "test_output")]
    pub patch: Option<PathBuf>,
}

/// `runner grade`.
#[derive(Debug, Args)]
pub struct Grade {
    /// Directory of a run, a predictions file (JSON list, JSON Lines or JSON by id), or `gold` for the dataset's known patches
    #[arg(value_name = "RUN|PREDICTIONS", value_hint = ValueHint::AnyPath, required_unless_present = "test_output", conflicts_with = "test_output")]
    pub target: Option<PathBuf>,
    /// A log alone.
    #[command(flatten)]
    pub offline: Offline,
    /// Which patches
    #[arg(long, value_name = "WHICH", default_value = "ungraded")]
    pub only: Only,
    /// Judge the logs that the run's gradings left again, by the rules of now: no test is run
    #[arg(long, conflicts_with_all = ["test_output", "only"])]
    pub from_logs: bool,
    /// Which of several predictions for one instance counts
    #[arg(long, value_name = "RULE", default_value = "refuse")]
    pub duplicates: DuplicateRule,
    /// Which instances; the dataset of a run is known
    #[command(flatten)]
    pub selection: options::Selection,
    /// Where the tests run; a run is graded where it was made
    #[command(flatten)]
    pub sandbox: options::Sandbox,
    /// What becomes of sandboxes.
    #[command(flatten)]
    pub keeping: options::Keeping,
    /// How.
    #[command(flatten)]
    pub grading: options::Grading,
    /// How verdicts are counted.
    #[command(flatten)]
    pub scoring: options::Scoring,
    /// Gates.
    #[command(flatten)]
    pub gates: options::Gates,
    /// Directory of the run that grading a predictions file makes [default: runs/TIME-PREDICTIONS]
    #[arg(long, short, help_heading = "Run", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}

/// `runner export`.
#[derive(Debug, Args)]
pub struct Export {
    /// Into which form.
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// The forms.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A submission to SWE-bench's leaderboard: predictions, trajectories, logs, metadata to fill in
    Leaderboard(ExportLeaderboard),
}

/// `runner export leaderboard`.
#[derive(Debug, Args)]
pub struct ExportLeaderboard {
    /// Directory of a run
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Directory of the submission; nothing in it is written over
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

/// `runner report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Directory of a run
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Instances whose tests cannot be relied on: the rates are given with and without them; the run keeps a copy [default: what it has]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub quarantine: Option<PathBuf>,
}

/// `runner replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// Trajectories: documents (`.json`) or logs (`.jsonl`)
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Repository that they were recorded in
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "dataset")]
    pub repo: Option<PathBuf>,
    /// Dataset whose rows name the repositories
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub dataset: Option<PathBuf>,
    /// Directory of repositories named `<owner>__<name>`, for rows without `repo_path`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub repos: Option<PathBuf>,
    /// Where commands run.
    #[command(flatten)]
    pub sandbox: options::Sandbox,
    /// What tools and checks do.
    #[command(flatten)]
    pub acting: options::Acting,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}
