//! Downloads packages of Debian and unpacks some of their files, without root and without any change of the system: Rust's source, and
//! device trees of Raspberry Pis.
//!
//! apt is run with sources, lists and cache of its own below the target folder, so that neither the machine's sources
//! nor its lists are touched. It takes the package only if Debian's archive key vouches for it. The mirror is the one
//! the machine uses already: it is near, and where there is a proxy, apt is set up for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::logged;
use crate::words::Progress;

/// Debian's archive keys, which every Debian machine has.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The Debian suite with new compilers.
const COMPILERS: Source = Source {
    suite: "trixie-backports",
    architecture: None,
};
const PACKAGE: &str = "rust-src";
/// The first Debian suite whose Linux has the device tree of a Raspberry Pi 5.
const LINUX: Source = Source {
    suite: "trixie",
    architecture: Some("arm64"),
};
/// The package that stands for the newest Linux of a suite.
const NEWEST_LINUX: &str = "linux-image-arm64";

/// Where packages come from.
#[derive(Clone, Copy)]
struct Source {
    suite: &'static str,
    /// The architecture, if it is not this machine's.
    architecture: Option<&'static str>,
}

/// Fetches the package of exactly `release` and unpacks its `library/` into `folder`, which appears when all is there.
pub(super) fn fetch_rust_src(release: &str, folder: &Path) -> Result<()> {
    if !Path::new(KEYRING).is_file() {
        bail!(
            "the keys of Debian's archive are missing ({KEYRING}), so packages cannot be verified"
        );
    }
    let mirrors = mirrors()?;
    let work = work_folder(folder);
    let apt = PrivateApt::new(&work, COMPILERS)?;

    let progress = Progress::start(format!(
        "looking up {PACKAGE} {release} in Debian's archive"
    ));
    apt.update(&mirrors, &progress)?;
    let version = apt.version(release)?;
    progress.done();

    let package = apt.download(&format!("{PACKAGE}={version}"))?;
    unpack(&package, release, &work)?;
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)
        .and_then(|()| fs::rename(work.join("library"), folder.join("library")))
        .with_context(|| {
            format!(
                "cannot move the library source to {folder}",
                folder = folder.display()
            )
        })?;
    let _ = fs::remove_dir_all(&work);
    Ok(())
}

/// Fetches the device trees of Raspberry Pis that Debian's Linux has, and its copyright notice, into `folder`, which appears when all is
/// there.
pub(super) fn fetch_raspi_trees(folder: &Path) -> Result<()> {
    if !Path::new(KEYRING).is_file() {
        bail!(
            "the keys of Debian's archive are missing ({KEYRING}), so packages cannot be verified"
        );
    }
    let mirrors = mirrors()?;
    let work = work_folder(folder);
    let apt = PrivateApt::new(&work, LINUX)?;
    let progress =
        Progress::start("looking up Raspberry Pi device trees in Debian's archive".into());
    apt.update(&mirrors, &progress)?;
    let name = apt.dependency(NEWEST_LINUX)?;
    progress.done();

    let package = apt.download(&name)?;
    let progress = Progress::start("unpacking the device trees".into());
    let script = "set -e; mkdir \"$2/trees\"; dpkg-deb --fsys-tarfile \"$1\" | tar --extract --directory \"$2/trees\" --wildcards \
        --transform 's:.*/::' '*/broadcom/bcm*-rpi-*.dtb' '*/copyright'";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(&package).arg(&work);
    logged::run(&mut command, &work.join("unpack.log"), || progress.tick())?;
    progress.done();
    let _ = fs::remove_dir_all(folder);
    fs::rename(work.join("trees"), folder).with_context(|| {
        format!(
            "cannot move the device trees to {folder}",
            folder = folder.display()
        )
    })?;
    let _ = fs::remove_dir_all(&work);
    Ok(())
}

/// A folder to work in beside this one, without what an earlier attempt has left.
fn work_folder(beside: &Path) -> PathBuf {
    let mut work = beside.as_os_str().to_owned();
    work.push(".unpacking");
    let work = PathBuf::from(work);
    let _ = fs::remove_dir_all(&work);
    work
}

/// The Debian mirrors the machine's own apt uses; known by the last part of their path, and checked by key later.
fn mirrors() -> Result<Vec<String>> {
    let output = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(REPO_URI)",
            "Created-By: Packages",
        ])
        .output()
        .context("cannot start apt-get")?;
    let mut mirrors: Vec<_> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.trim_end_matches('/').to_owned())
        .filter(|uri| uri.ends_with("/debian") || uri.ends_with("/debian.list"))
        .collect();
    mirrors.sort();
    mirrors.dedup();
    if mirrors.is_empty() {
        bail!("apt's sources contain no Debian mirror");
    }
    Ok(mirrors)
}

/// apt with its configuration, lists and cache in one private folder.
struct PrivateApt {
    folder: PathBuf,
    source: Source,
}

impl PrivateApt {
    fn new(folder: &Path, source: Source) -> Result<Self> {
        for part in ["lists/partial", "cache/archives/partial"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            source,
        })
    }

    /// A program of apt's with the private configuration. The machine's `apt.conf` still counts: it may name a proxy.
    fn program(&self, name: &str) -> Command {
        let folder = self.folder.display();
        let mut command = Command::new(name);
        for option in [
            format!("Dir::Etc::sourcelist={folder}/debian.sources"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Dir::Etc::preferences=/dev/null".into(),
            "Dir::Etc::preferencesparts=/dev/null".into(),
            format!("Dir::State={folder}"),
            "Dir::State::status=/dev/null".into(),
            format!("Dir::Cache={folder}/cache"),
            // The user `_apt` may not have the permission to write here.
            "APT::Sandbox::User=root".into(),
        ] {
            command.args(["-o", &option]);
        }
        if let Some(architecture) = self.source.architecture {
            command.args(["-o", &format!("APT::Architecture={architecture}")]);
            command.args(["-o", &format!("APT::Architectures::={architecture}")]);
        }
        command.arg("--quiet").current_dir(&self.folder);
        command
    }

    /// Fetches the list of packages from the first mirror that has one which Debian's key vouches for.
    fn update(&self, mirrors: &[String], progress: &Progress) -> Result<()> {
        let log = self.folder.join("update.log");
        let suite = self.source.suite;
        let mut last = Ok(());
        for mirror in mirrors {
            let sources = format!(
                "Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n"
            );
            fs::write(self.folder.join("debian.sources"), sources)
                .context("cannot write the list of package sources for apt")?;
            let mut update = self.program("apt-get");
            // Without this, apt-get succeeds although a list could not be fetched.
            update.args(["-o", "APT::Update::Error-Mode=any", "update"]);
            last = logged::run(&mut update, &log, || progress.tick());
            if last.is_ok() {
                break;
            }
        }
        last.with_context(|| format!("apt has no package list of Debian's {suite}"))
    }

    /// The package's version for `release`: `1.95.0+dfsg1-2~bpo13+1` for `1.95.0`.
    fn version(&self, release: &str) -> Result<String> {
        let output = self
            .program("apt-cache")
            .args(["madison", PACKAGE])
            .output()
            .context("cannot start apt-cache")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let versions: Vec<_> = text
            .lines()
            .filter_map(|line| line.split('|').nth(1))
            .map(str::trim)
            .collect();
        let exact = versions.iter().find(|version| {
            let rest = version.strip_prefix(release);
            rest.is_some_and(|rest| rest.starts_with(['+', '-', '~']))
        });
        match exact {
            Some(version) => Ok((*version).to_owned()),
            None => bail!(
                "Debian's {suite} has no package {PACKAGE} {release}, only {versions}",
                suite = self.source.suite,
                versions = versions.join(", ")
            ),
        }
    }

    /// The package that this one stands for: its first dependency.
    fn dependency(&self, package: &str) -> Result<String> {
        let output = self
            .program("apt-cache")
            .args(["depends", "--important", package])
            .output()
            .context("cannot start apt-cache")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Depends: "));
        first.map(str::to_owned).with_context(|| {
            format!(
                "Debian's {suite} has no package {package}",
                suite = self.source.suite
            )
        })
    }

    /// Downloads a package, by its name or by name and version; apt checks its size and SHA-256 against the signed list.
    fn download(&self, wanted: &str) -> Result<PathBuf> {
        let uris = self
            .program("apt-get")
            .args(["download", "--print-uris", wanted])
            .output()
            .context("cannot start apt-get")?;
        // 'URI' FILE SIZE HASH
        let line = String::from_utf8_lossy(&uris.stdout).into_owned();
        let mut fields = line.split_whitespace().skip(1);
        let (Some(file), Some(size)) = (fields.next(), fields.next()) else {
            bail!("apt-get did not print a download address for {wanted}");
        };
        let total = size
            .parse()
            .context("apt-get did not print a download size")?;

        let progress = Progress::start(format!("downloading Debian's {wanted}"));
        let path = self.folder.join(file);
        let log = self.folder.join("download.log");
        let mut download = self.program("apt-get");
        logged::run(download.args(["download", wanted]), &log, || {
            // apt writes to a name of its own until the file is whole.
            progress.bytes(largest_file(&self.folder), total);
        })?;
        progress.done();
        if !path.is_file() {
            bail!(
                "apt-get download did not create {path}",
                path = path.display()
            );
        }
        Ok(path)
    }
}

/// Size in bytes of the largest file in a folder: the one being downloaded.
fn largest_file(folder: &Path) -> u64 {
    let sizes = |folder: PathBuf| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
            .max()
    };
    let places = ["", "cache/archives/partial"];
    let largest = places
        .into_iter()
        .filter_map(|place| sizes(folder.join(place)));
    largest.max().unwrap_or(0)
}

/// Unpacks the package's `library/` into `work`; the compiler's own source, five times as much, stays packed.
fn unpack(package: &Path, release: &str, work: &Path) -> Result<()> {
    let progress = Progress::start("unpacking the source of Rust's library".into());
    let script = "set -e; dpkg-deb --fsys-tarfile \"$1\" | tar --extract --directory \"$2\" --strip-components 4 \"$3\"";
    let inside = format!("./usr/src/rustc-{release}/library");
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .arg(package)
        .arg(work)
        .arg(inside);
    logged::run(&mut command, &work.join("unpack.log"), || progress.tick())?;
    progress.done();
    Ok(())
}
