//! cli/subject.rs: the subject of a run: the kernel, its probes, and the module that traces it.

use super::config::Config;
use super::console::{Console, Failed};
use super::progress::{Indexing, Progress};
use crate::backend::bpf;
use crate::backend::module::{self, Device, Live};
use crate::options::key;
use kinst_base::diag::Diagnostic;
use kinst_sites::{Cache, Catalog, Kernel, LiveText, Programs, Reach, Text};
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

/// The kernel's files, its probes and the module. Each part is opened on first use.
pub(crate) struct Subject {
    asked: Asked,
    progress: Arc<Progress>,
    kernel: OnceCell<Arc<Kernel>>,
    programs: Arc<Programs>,
    catalog: OnceCell<Arc<Catalog>>,
    device: OnceCell<Arc<Device>>,
    /// Set if the trace runs without the module: to the reason, or to `None` with `-x backend=bpf`.
    pub without_module: OnceCell<Option<module::Error>>,
}

/// The part of the request that concerns the subject.
struct Asked {
    command: String,
    traces: bool,
    sysroot: Option<PathBuf>,
    vmlinux: Option<PathBuf>,
    nocache: bool,
    zdefs: bool,
    backend: String,
}

impl Asked {
    fn new(config: &Config) -> Asked {
        let options = &config.options;
        Asked {
            command: config.command.clone(),
            traces: config.traces(),
            sysroot: options.text(key::SYSROOT).map(PathBuf::from),
            vmlinux: options.text(key::VMLINUX).map(PathBuf::from),
            nocache: options.flag(key::NOCACHE),
            zdefs: options.flag(key::ZDEFS),
            backend: options.text(key::BACKEND).unwrap_or_default().to_owned(),
        }
    }
}

/// Opens the programs that descriptions will name.
fn programs(config: &Config, console: &Console) -> Arc<Programs> {
    let (command, progress) = (config.command.clone(), Arc::clone(&console.progress));
    let say = Box::new(move |text: &str| progress.lend(&format!("{command}: {text}\n")));
    let cache = if config.options.flag(key::NOCACHE) { None } else { Cache::of_user() };
    Arc::new(Programs::default().with_debuginfod(say).with_cache(cache))
}

impl Subject {
    pub(crate) fn new(config: &Config, console: &Console) -> Subject {
        Subject {
            asked: Asked::new(config),
            progress: Arc::clone(&console.progress),
            kernel: OnceCell::new(),
            programs: programs(config, console),
            catalog: OnceCell::new(),
            device: OnceCell::new(),
            without_module: OnceCell::new(),
        }
    }

    /// Applies the options that a program has set.
    pub(crate) fn follow(&mut self, config: &Config) {
        self.asked = Asked::new(config);
    }

    /// Opens the files of the running kernel, or of --sysroot.
    pub(crate) fn open_kernel(&self) -> Result<Arc<Kernel>, Box<Diagnostic>> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(Arc::clone(kernel));
        }
        let sysroot = self.asked.sysroot.as_deref();
        let kernel = match sysroot {
            Some(path) if self.asked.traces => Kernel::running_below(path)?,
            Some(path) => Kernel::sysroot(path, None)?,
            None => Kernel::running()?,
        };
        let (cache, brought) = match self.asked.nocache {
            true => (None, Vec::new()),
            false => (Cache::of_user(), Cache::of_packages(sysroot)),
        };
        let command = self.asked.command.clone();
        let progress = Arc::clone(&self.progress);
        let kernel = kernel
            .with_vmlinux(self.asked.vmlinux.as_deref())?
            .with_debuginfod(Box::new(move |text| progress.lend(&format!("{command}: {text}\n"))))
            .with_cache(cache, Some(Box::new(Indexing::new(Arc::clone(&self.progress)))))
            .with_brought(brought)
            .with_advice(!self.asked.zdefs);
        let kernel = Arc::new(kernel);
        Ok(Arc::clone(self.kernel.get_or_init(|| kernel)))
    }

    /// Like [`Subject::open_kernel`], but reports the error.
    pub(crate) fn kernel(&self, console: &Console) -> Result<Arc<Kernel>, Failed> {
        console.reported(self.open_kernel())
    }

    /// Reports errors in the kernel's files; `verbose` also what was left out of them.
    pub(crate) fn report_files(&self, console: &Console, verbose: bool) {
        let (warnings, remarks) = self.programs.take_reports();
        warnings.iter().for_each(|warning| console.diagnostic(warning));
        remarks.iter().filter(|_| verbose).for_each(|remark| console.report.notice(remark));
        let Some(kernel) = self.kernel.get() else { return };
        for warning in kernel.take_warnings() {
            console.diagnostic(&warning);
        }
        if verbose {
            kernel.take_remarks().iter().for_each(|remark| console.report.notice(remark));
        }
    }

    /// Whether the kernel of this run is the running one.
    pub(crate) fn is_running(&self) -> bool {
        self.asked.sysroot.is_none()
            || self.asked.traces && self.open_kernel().is_ok_and(|kernel| kernel.is_running())
    }

    /// Fails if the files of --sysroot do not belong to the running kernel.
    pub(crate) fn require_running(&self, console: &Console) -> Result<(), Failed> {
        let Some(sysroot) = self.asked.sysroot.as_deref() else { return Ok(()) };
        console.reported(self.open_kernel().and_then(|kernel| kernel.require_running(sysroot)))
    }

    /// Opens the catalog of probes. It uses the module's view of memory if the kernel is the running one.
    pub(crate) fn open_catalog(&self) -> Result<Arc<Catalog>, Box<Diagnostic>> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(Arc::clone(catalog));
        }
        let kernel = self.open_kernel()?;
        let live = self.live_text();
        let catalog = || {
            let catalog = Catalog::new(kernel, live).with_reach(self.reach());
            Arc::new(match self.programs() {
                Some(programs) => catalog.with_programs(programs),
                None => catalog,
            })
        };
        Ok(Arc::clone(self.catalog.get_or_init(catalog)))
    }

    /// Returns the programs of this machine; `None` if the kernel is that of a sysroot.
    pub(crate) fn programs(&self) -> Option<Arc<Programs>> {
        self.is_running().then(|| Arc::clone(&self.programs))
    }

    /// Like [`Subject::open_catalog`], but reports the error.
    pub(crate) fn catalog(&self, console: &Console) -> Result<Arc<Catalog>, Failed> {
        console.reported(self.open_catalog())
    }

    /// Returns the module's view of memory, if the module is loaded and the kernel is the running one.
    pub(crate) fn live_text(&self) -> Option<Box<dyn LiveText>> {
        if !self.is_running() {
            return None;
        }
        if self.is_bpf() {
            return Some(Box::new(self.memory_text().ok()?));
        }
        Some(Box::new(Live(self.device().ok()?)))
    }

    /// Whether BPF runs the programs or, before that is decided, would run them.
    fn is_bpf(&self) -> bool {
        let asked = &self.asked.backend;
        let decided = asked == "bpf" || self.without_module.get().is_some();
        let absent = || self.device().is_err() && kinst_host::module::file(&kinst_os::release()).is_none();
        decided || asked == "auto" && absent() && bpf::check().is_ok()
    }

    /// Returns the functions that can be traced. Only without the module are they known before arming.
    fn reach(&self) -> Option<Box<dyn Reach>> {
        if !self.is_running() || !self.is_bpf() {
            return None;
        }
        Some(Box::new(bpf::reach::Functions::new(self.memory_text().ok()?)?))
    }

    /// Returns the kernel's text, read through BPF programs.
    pub(crate) fn memory_text(&self) -> Result<Text, bpf::EnableError> {
        let unknown = |error: Box<Diagnostic>| bpf::ProgramError::NoKernel(error.title.clone());
        let kernel = self.open_kernel().map_err(unknown)?;
        Ok(Text::new(kernel, Box::new(bpf::Reader::new()?)))
    }

    /// Returns the module's device if it was opened.
    pub(crate) fn opened_device(&self) -> Option<&Device> {
        self.device.get().map(|device| &**device)
    }

    /// Opens the module's device if the module is loaded. One descriptor serves the queries and the session of a run.
    pub(crate) fn device(&self) -> Result<Arc<Device>, module::Error> {
        match self.device.get() {
            Some(device) => Ok(Arc::clone(device)),
            None => Ok(self.keep_device(Device::open()?)),
        }
    }

    /// Like [`Subject::device`], but loads the module if necessary; the second value is whether it did.
    pub(crate) fn device_to_trace(&self) -> Result<(Arc<Device>, bool), module::Error> {
        if let Some(device) = self.device.get() {
            return Ok((Arc::clone(device), false));
        }
        let (device, loaded) = Device::open_or_load()?;
        Ok((self.keep_device(device), loaded))
    }

    /// Returns the largest number of probes that the module arms.
    pub(crate) fn most_probes(&self) -> usize {
        self.device().map_or(usize::MAX, |device| device.info.max_probes as usize)
    }

    fn keep_device(&self, device: Device) -> Arc<Device> {
        let device = Arc::new(device);
        // Leaked on purpose: the kernel closes the descriptor when the process ends, and the process does not wait
        // until thousands of probes are removed.
        std::mem::forget(Arc::clone(&device));
        Arc::clone(self.device.get_or_init(|| device))
    }
}
