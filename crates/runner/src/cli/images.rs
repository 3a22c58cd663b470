//! `runner images`.

use std::collections::BTreeMap;

use dataset::images::Naming;
use futures_util::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use sandbox::place::docker::{Inventory, Pull, StoredImage};
use serde_json::json;

use super::arguments::{Config, Images, ImagesCommand, ImagesList, ImagesPrune, ImagesPull};
use super::error::Error;
use super::resolve;
use super::source::Source;
use crate::exit::Exit;
use crate::layers::options;
use crate::layers::{Options, Table};
use crate::ui::{self, Printer, escape};
use crate::{backends, clock};

/// Runs the command.
pub(super) fn images(command: Images, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let runtime = super::runtime()?;
    match command.command {
        ImagesCommand::List(command) => runtime.block_on(list(&command, printer)),
        ImagesCommand::Pull(command) => runtime.block_on(pull(*command, negated, printer)),
        ImagesCommand::Prune(command) => runtime.block_on(prune(&command, printer)),
    }
}

async fn connect(options: &Options, pull: Pull, pulls: usize) -> Result<Inventory, Error> {
    let root = backends::root(options.sandbox.scratch.as_ref());
    let platform = options.sandbox.images.platform.as_deref();
    Ok(Inventory::connect(&root, platform, pull, pulls).await?)
}

async fn stored(
    config: &Config,
    printer: &Printer,
) -> Result<(Inventory, Vec<StoredImage>), Error> {
    let options = super::load(config, Table::new(), printer)?.options()?;
    let inventory = connect(&options, Pull::Never, 1).await?;
    let images = inventory.list().await?;
    Ok((inventory, images))
}

async fn list(command: &ImagesList, printer: &Printer) -> Result<Exit, Error> {
    let (_, images) = stored(&command.config, printer).await?;
    if printer.is_json() {
        let images: Vec<_> = images.iter().map(as_json).collect();
        printer.data(&format!("{:#}", json!({"images": images})));
    } else {
        printer.data(&table(&images, clock::now()));
    }
    Ok(Exit::Success)
}

fn as_json(image: &StoredImage) -> serde_json::Value {
    let time = |at| Timestamp::try_from(at).map(clock::text).ok();
    json!({
        "id": image.id, "names": image.names, "bytes": image.bytes, "used": image.used.and_then(time),
        "made": time(image.made), "in_use": image.in_use, "built": image.built, "pulled": image.pulled,
    })
}

/// A line for each image.
fn table(images: &[StoredImage], now: Timestamp) -> String {
    if images.is_empty() {
        return "the engine has no images".to_owned();
    }
    let mut lines = vec![format!("{:>10}  {:<14}  IMAGE", "SIZE", "USED")];
    lines.extend(images.iter().map(|image| {
        let note = match (image.in_use, image.built) {
            (true, _) => " (a container needs it)",
            (false, true) => " (built here)",
            (false, false) => "",
        };
        let size = ui::size(image.bytes);
        let used = image.used.map_or_else(
            || "not known".to_owned(),
            |at| ago(at.into_timestamp(now), now),
        );
        format!(
            "{size:>10}  {used:<14}  {}{note}",
            escape::line(&name(image))
        )
    }));
    lines.join("\n")
}

fn name(image: &StoredImage) -> String {
    if image.names.is_empty() {
        return image.id.clone();
    }
    image.names.join(", ")
}

trait IntoTimestamp {
    fn into_timestamp(self, otherwise: Timestamp) -> Timestamp;
}

impl IntoTimestamp for std::time::SystemTime {
    /// A time that no calendar holds is taken for `otherwise`.
    fn into_timestamp(self, otherwise: Timestamp) -> Timestamp {
        Timestamp::try_from(self).unwrap_or(otherwise)
    }
}

/// `3 days ago`.
fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).max(SignedDuration::ZERO).as_secs();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length);
    let Some((length, name)) = unit else {
        return "just now".to_owned();
    };
    let number = usize::try_from(seconds / length).unwrap_or_default();
    format!("{} ago", ui::count(number, name))
}

/// Gets images, each once, and goes on when one cannot be had.
async fn pull(command: ImagesPull, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let given = Options {
        selection: command.selection,
        sandbox: options::Sandbox {
            images: command.images,
            ..options::Sandbox::default()
        },
        ..Options::default()
    };
    let flags = resolve::flags(&given, negated)?;
    let options = super::load(&command.config, flags, printer)?.options()?;
    let names = if command.names.is_empty() {
        names(&options, printer).await?
    } else {
        command.names.into_iter().map(|name| (name, 1)).collect()
    };
    let images = &options.sandbox.images;
    let (policy, at_once) = (resolve::pull(images)?, resolve::pulls(images)?);
    let inventory = connect(&options, policy, at_once).await?;
    let pulls = names.into_iter().map(async |(name, instances)| {
        let digest = pull_one(&inventory, &name, printer).await;
        json!({"image": name, "digest": digest, "instances": instances})
    });
    let pulls = stream::iter(pulls).buffered(at_once).collect::<Vec<_>>();
    let pulled = ui::pulls::beside(printer, &[inventory.pulls()], pulls).await;
    let failed = pulled.iter().any(|image| image["digest"].is_null());
    if printer.is_json() {
        printer.data(&format!("{:#}", json!({"images": pulled})));
    }
    Ok(if failed {
        Exit::Infrastructure
    } else {
        Exit::Success
    })
}

/// Gets one image, and says its digest or what is wrong.
async fn pull_one(inventory: &Inventory, name: &str, printer: &Printer) -> Option<String> {
    match inventory.pull(name).await {
        Ok(digest) => {
            if !printer.is_json() {
                printer.data(&format!("{}  {digest}", escape::line(name)));
            }
            Some(digest)
        }
        Err(error) => {
            let hints: Vec<_> = error.hint().map(str::to_owned).into_iter().collect();
            printer.error(&error, &hints);
            None
        }
    }
}

/// The images of the selected instances, each with how many need it.
async fn names(options: &Options, printer: &Printer) -> Result<BTreeMap<String, usize>, Error> {
    let Some(path) = &options.selection.dataset else {
        return Err(Error::usage(
            "no image is named",
            "name some, or give the --dataset whose instances need them",
        ));
    };
    let naming = Naming {
        template: options.sandbox.images.image.clone(),
        mirror: options.sandbox.images.image_mirror.clone(),
        special: None,
    };
    let mut names = BTreeMap::new();
    let source = Source::find(path, &options.selection, printer).await?;
    for image in source.keep(|row| naming.image(&row))? {
        if let Some(image) = image? {
            *names.entry(image.name).or_default() += 1;
        }
    }
    if names.is_empty() {
        return Err(Error::usage(
            "none of the selected instances has an image",
            "rows name one as `image`, `image_name` or `docker_image`; or give a template with --image",
        ));
    }
    Ok(names)
}

async fn prune(command: &ImagesPrune, printer: &Printer) -> Result<Exit, Error> {
    let (inventory, images) = stored(&command.config, printer).await?;
    let chosen = choose(&images, command, clock::now());
    let mut removed = Vec::new();
    let mut failed = false;
    for image in chosen {
        if !command.dry_run
            && let Err(error) = inventory.remove(image).await
        {
            failed = true;
            printer.error(&error, &[]);
            continue;
        }
        removed.push(image);
    }
    printer.data(&pruned(&removed, command.dry_run, printer.is_json()));
    Ok(if failed {
        Exit::Infrastructure
    } else {
        Exit::Success
    })
}

/// What went, or would go.
fn pruned(images: &[&StoredImage], dry: bool, json: bool) -> String {
    if json {
        let images: Vec<_> = images.iter().map(|image| as_json(image)).collect();
        return format!("{:#}", json!({"dry_run": dry, "removed": images}));
    }
    if images.is_empty() {
        return "nothing to remove".to_owned();
    }
    let verb = if dry { "would remove" } else { "removed" };
    let lines = images.iter().map(|image| {
        let name = name(image);
        let size = ui::size(image.bytes);
        format!("{verb} {}  {size}", escape::line(&name))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What goes, in this order: what is used least, until what stays is small enough.
fn choose<'a>(
    images: &'a [StoredImage],
    command: &ImagesPrune,
    now: Timestamp,
) -> Vec<&'a StoredImage> {
    let may_go = |image: &&StoredImage| {
        !image.in_use
            && (command.built || !image.built)
            && (command.unknown || image.used.is_some())
            && command.unused_for.is_none_or(|span| {
                let at = image.used.unwrap_or(image.made).into_timestamp(now);
                now.duration_since(at).unsigned_abs() >= span.0
            })
    };
    let candidates: Vec<_> = images.iter().filter(may_go).collect();
    let mut left: u64 = candidates.iter().map(|image| image.bytes).sum();
    candidates
        .into_iter()
        .take_while(|image| {
            let goes = left > command.keep.0;
            left = left.saturating_sub(image.bytes);
            goes
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::layers::values::{Size, Span};

    const NOW: u64 = 1_700_000_000;

    fn image(name: &str, used_ago: Option<u64>, bytes: u64) -> StoredImage {
        let at = |ago: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(NOW - ago);
        StoredImage {
            id: format!("sha256:{name}"),
            names: vec![name.to_owned()],
            bytes,
            used: used_ago.map(at),
            made: at(10_000_000),
            in_use: false,
            built: false,
            pulled: false,
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(i64::try_from(NOW).unwrap()).unwrap()
    }

    fn prune() -> ImagesPrune {
        ImagesPrune {
            keep: Size(0),
            unused_for: None,
            unknown: false,
            built: false,
            dry_run: false,
            config: Config::default(),
        }
    }

    fn gone(images: &[StoredImage], command: &ImagesPrune) -> Vec<String> {
        let chosen = choose(images, command, now());
        chosen.into_iter().map(name).collect()
    }

    #[test]
    fn the_least_recently_used_go_until_the_rest_is_small_enough() {
        let mut images = vec![
            image("unknown", None, 50),
            image("old", Some(90_000), 30),
            image("needed", Some(80_000), 20),
            image("built", Some(70_000), 20),
            image("middle", Some(7_200), 30),
            image("new", Some(60), 40),
        ];
        images[2].in_use = true;
        images[3].built = true;
        assert_eq!(gone(&images, &prune()), ["old", "middle", "new"]);
        let keep = |bytes| ImagesPrune {
            keep: Size(bytes),
            ..prune()
        };
        assert_eq!(gone(&images, &keep(70)), ["old"]);
        assert_eq!(gone(&images, &keep(69)), ["old", "middle"]);
        assert_eq!(gone(&images, &keep(100)), Vec::<String>::new());
        let unused_for = Some(Span(Duration::from_hours(1)));
        assert_eq!(
            gone(
                &images,
                &ImagesPrune {
                    unused_for,
                    ..prune()
                }
            ),
            ["old", "middle"]
        );
        let all = ImagesPrune {
            unknown: true,
            built: true,
            ..prune()
        };
        assert_eq!(
            gone(&images, &all),
            ["unknown", "old", "built", "middle", "new"]
        );
    }

    #[test]
    fn images_are_listed_with_size_and_last_use() {
        let mut images = [
            image("a\x07:1", None, 1536),
            image("b:2", Some(200_000), 2 << 30),
            image("c:3", Some(59), 0),
        ];
        images[1].in_use = true;
        images[2].built = true;
        images[2].names.clear();
        insta::assert_snapshot!(table(&images, now()));
    }
}
