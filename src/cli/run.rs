//! cli/run.rs: state that the modes of the dtrace command share: options, programs, the kernel, the module.

use super::cpp;
use super::dtrace_args::{Invocation, Mode, ProgramArg};
use super::output::{eprint, reason};
use super::progress::{Indexing, Progress};
use super::report::{Inserted, Report, placed};
use crate::backend::bpf;
use crate::backend::module::{self, Device, Live};
use crate::diag::Diagnostic;
use crate::dif;
use crate::host;
use crate::knowledge::{Installed, Knowledge};
use crate::machine::Machine;
use crate::options::key;
use crate::options::{From as Setter, Options};
use crate::os;
use crate::os::process::{self, Process, Start};
use crate::os::signals::Signals;
use crate::parser::Macros;
use crate::pipeline::{self, Compilation, Compiled, LibraryFile};
use crate::sites::{Cache, Catalog, DwarfIndex, InlineProbe, Kernel, LiveText, Reach, SiteIndex, Text};
use crate::source::{FileId, Origin, Source, Sources};
use std::cell::OnceCell;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// A failure whose reason has been reported.
#[derive(Debug)]
pub struct Failed;

/// One run of the command.
pub struct Run {
    pub invocation: Invocation,
    pub signals: Signals,
    pub progress: Arc<Progress>,
    pub report: Report,
    pub options: Options,
    pub sources: Sources,
    /// Parallel to [`Invocation::programs`].
    pub files: Vec<FileId>,
    pub libraries: Vec<LibraryFile>,
    /// The parts of the program that are of the command line, where an option wrote the rest.
    pub inserted: Vec<Inserted>,
    /// Opened on first use, like the fields that follow.
    kernel: OnceCell<Arc<Kernel>>,
    catalog: OnceCell<Arc<Catalog>>,
    device: OnceCell<Arc<Device>>,
    /// Set if the trace is one without the module; why there is none, unless the option asks for that.
    pub without_module: OnceCell<Option<module::Error>>,
}

impl Run {
    pub fn new(invocation: Invocation, report: Report) -> Result<Run, Failed> {
        let progress = Arc::new(Progress::default());
        let shown = Arc::clone(&progress);
        let before_end = move || {
            shown.clear();
            Cache::close();
        };
        let signals = Signals::install(before_end).map_err(|error| {
            report.error(&format!("failed to watch for signals: {}", reason(&error)), None);
            Failed
        })?;
        let mut run = Run {
            invocation,
            signals,
            progress,
            report,
            options: Options::default(),
            sources: Sources::default(),
            files: Vec::new(),
            libraries: Vec::new(),
            inserted: Vec::new(),
            kernel: OnceCell::new(),
            catalog: OnceCell::new(),
            device: OnceCell::new(),
            without_module: OnceCell::new(),
        };
        run.set_options()?;
        Ok(run)
    }

    /// Sets the options of the environment first, then those of the command line, in its order.
    fn set_options(&mut self) -> Result<(), Failed> {
        for (name, value) in std::env::vars_os() {
            let name = name.to_string_lossy().to_ascii_lowercase();
            let Some(name) = name.strip_prefix("dtrace_opt_") else { continue };
            let value = value.to_string_lossy();
            self.set_option(name, Some(&*value).filter(|value| !value.is_empty()))?;
        }
        for (name, value) in self.invocation.settings.clone().into_iter().filter(|(name, _)| name != "help") {
            self.set_option(&name, value.as_deref())?;
        }
        self.report.errtags = self.options.flag(key::ERRTAGS);
        self.report.quiet = self.options.flag(key::QUIET);
        Ok(())
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) -> Result<(), Failed> {
        match self.options.set(name, value, Setter::CommandLine) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.fail(&format!("failed to set -x {name}: {error}"), error.help().as_deref()).map(drop)
            }
        }
    }

    pub fn read_programs(&mut self) -> Result<(), Failed> {
        for ProgramArg { origin, text } in self.invocation.programs.clone() {
            let text = match origin {
                Origin::Script => Source { text: self.read_script(&text)?, name: text, origin },
                _ => Source { name: text.clone(), text, origin },
            };
            self.files.push(self.sources.add(text));
        }
        self.read_libraries()
    }

    fn read_script(&self, path: &str) -> Result<String, Failed> {
        let mut bytes = self.read_bytes(path)?;
        if self.options.flag(key::CPP) {
            bytes = match cpp::preprocess(&bytes, path, &self.options) {
                Ok(bytes) => bytes,
                Err(error) => {
                    let text = format!("failed to compile script {path}: {error}");
                    return self.fail_as(&text, error.help());
                }
            };
        }
        self.decode(bytes, path)
    }

    /// Reads a script as it is written.
    pub fn read_file(&self, path: &str) -> Result<String, Failed> {
        self.decode(self.read_bytes(path)?, path)
    }

    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, Failed> {
        let mut bytes = Vec::new();
        // One byte more than the limit, to detect a text that exceeds it.
        let most = crate::parser::MAX_TEXT as u64 + 1;
        let read = match path {
            "-" => std::io::stdin().take(most).read_to_end(&mut bytes),
            _ => std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
        };
        match read {
            Ok(_) => Ok(bytes),
            Err(error) => self.fail_as(&format!("failed to open {path}: {}", reason(&error)), None),
        }
    }

    fn decode(&self, bytes: Vec<u8>, path: &str) -> Result<String, Failed> {
        crate::parser::decode(bytes).or_else(|diagnostic| {
            let tag = if self.report.errtags { format!("[{}] ", diagnostic.tag.0) } else { String::new() };
            let help = diagnostic.help.first().map(String::as_str);
            self.fail_as(&format!("failed to compile script {path}: {tag}{}", diagnostic.title), help)
        })
    }

    /// Compiles all programs as one; -d, -S and the dumps are printed on the way.
    pub fn compile(&mut self, target: u32) -> Result<Compiled, Failed> {
        let mut options = self.options.clone();
        let compilation = self.progress.during("compiling", || self.compilation(target, &mut options));
        self.tell_of_kernel();
        if self.invocation.desugared {
            self.print(&compilation.desugared)?;
        }
        eprint(&compilation.dumps);
        let compiled = match compilation.result {
            Ok(compiled) => compiled,
            Err(diagnostics) => {
                let subject = self.files.first().copied();
                let all = diagnostics.into_iter().map(|diagnostic| placed(diagnostic, &self.inserted));
                all.for_each(|diagnostic| self.report.diagnostic(&self.sources, &diagnostic, subject));
                return Err(Failed);
            }
        };
        let subject = self.files.first().copied();
        let remarks = compiled.remarks.iter().filter(|_| self.invocation.verbose);
        for told in compiled.warnings.iter().chain(remarks) {
            self.report.diagnostic(&self.sources, told, subject);
        }
        self.options = options;
        self.report.quiet = self.options.flag(key::QUIET);
        for (name, why) in self.options.without_effect() {
            self.report.notice(&format!("option {name} has no effect here: {why}"));
        }
        for text in self.options.raised() {
            self.report.notice(&format!("option {text}"));
        }
        if self.options.flag(key::VERBOSE) {
            eprint(&dif::disasm::program(&compiled.program));
            if self.options.text(key::BACKEND) == Some("bpf") {
                let strsize = u32::try_from(self.options.number(key::STRSIZE)).unwrap_or(u32::MAX);
                let options = dif::Options { strsize, ..dif::Options::default() };
                let machine = self.open_kernel().map_or(Machine::HERE, |kernel| kernel.machine());
                let machine = crate::bpf::machine::of(machine);
                eprint(&crate::bpf::listing::program(&compiled.program, &options, machine));
            }
        }
        Ok(compiled)
    }

    /// Reports errors in the kernel's files; with -v also what was left out of them.
    pub fn tell_of_kernel(&self) {
        let Some(kernel) = self.kernel.get() else { return };
        for warning in kernel.take_warnings() {
            self.report.diagnostic(&self.sources, &warning, None);
        }
        if self.invocation.verbose {
            kernel.take_remarks().iter().for_each(|remark| self.report.notice(remark));
        }
    }

    fn compilation(&self, target: u32, options: &mut Options) -> Compilation {
        self.with_given(target, |given| pipeline::compile(&self.sources, &self.files, given, options))
    }

    /// Calls `compile` with the inputs that this run has for the compiler.
    pub fn with_given<T>(&self, target: u32, compile: impl FnOnce(pipeline::Given<'_>) -> T) -> T {
        let macros = self.macros(target);
        let index = |wanted| self.index(wanted);
        let running = self.is_running();
        let kernel = Knowledge::new(Installed::new(running, Box::new(|| self.open_catalog())));
        let libraries = &self.libraries;
        let stability = self.invocation.verbose && self.invocation.mode != Mode::List;
        let given = pipeline::Given {
            macros: &macros,
            kernel: &kernel,
            places: &kernel,
            index: &index,
            libraries,
            stability,
        };
        compile(given)
    }

    fn index(&self, wanted: Vec<InlineProbe>) -> Result<Box<dyn SiteIndex>, Box<Diagnostic>> {
        let index = DwarfIndex::new(self.open_kernel()?, wanted);
        let most = usize::try_from(self.options.number(key::MAXPROBES)).unwrap_or(usize::MAX);
        let most_armed = self.device.get().map_or(usize::MAX, |device| match self.options.flag(key::ONCE) {
            true => device.info.max_once as usize,
            false => device.info.max_probes as usize,
        });
        Ok(Box::new(index.with_max_probes(most, most_armed)))
    }

    /// Opens the files of the running kernel, or of --sysroot.
    pub fn open_kernel(&self) -> Result<Arc<Kernel>, Box<Diagnostic>> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(Arc::clone(kernel));
        }
        let sysroot = self.options.text(key::SYSROOT).map(Path::new);
        let kernel = match sysroot {
            Some(path) if self.traces() => Kernel::running_below(path)?,
            Some(path) => Kernel::sysroot(path, None)?,
            None => Kernel::running()?,
        };
        let (cache, brought) = match self.options.flag(key::NOCACHE) {
            true => (None, Vec::new()),
            false => (Cache::of_user(), Cache::of_packages(sysroot)),
        };
        let vmlinux = self.options.text(key::VMLINUX).map(Path::new);
        let program = self.report.program.clone();
        let progress = Arc::clone(&self.progress);
        let kernel = kernel
            .with_vmlinux(vmlinux)?
            .with_debuginfod(Box::new(move |text| progress.lend(&format!("{program}: {text}\n"))))
            .with_cache(cache, Some(Box::new(Indexing::new(Arc::clone(&self.progress)))))
            .with_brought(brought)
            .with_advice(!self.options.flag(key::ZDEFS));
        let kernel = Arc::new(kernel);
        Ok(Arc::clone(self.kernel.get_or_init(|| kernel)))
    }

    /// Whether this run traces, for which the files have to be those of the running kernel.
    fn traces(&self) -> bool {
        let Invocation { mode, dump, formatted, disassembled, .. } = &self.invocation;
        *mode == Mode::Trace && !dump && formatted.is_empty() && disassembled.is_empty()
    }

    /// Whether the kernel of this run is the running one.
    pub fn is_running(&self) -> bool {
        let sysroot = self.options.text(key::SYSROOT);
        sysroot.is_none() || self.traces() && self.open_kernel().is_ok_and(|kernel| kernel.is_running())
    }

    /// Refuses to trace with files that are not those of the running kernel.
    pub fn require_running(&self) -> Result<(), Failed> {
        let Some(sysroot) = self.options.text(key::SYSROOT).map(Path::new) else { return Ok(()) };
        self.reported(self.open_kernel().and_then(|kernel| kernel.require_running(sysroot)))
    }

    /// Like [`Run::open_kernel`], but reports the error.
    pub fn kernel(&self) -> Result<Arc<Kernel>, Failed> {
        self.reported(self.open_kernel())
    }

    /// Opens the catalog of probes. The module's view of memory counts if the kernel is the running one.
    pub fn open_catalog(&self) -> Result<Arc<Catalog>, Box<Diagnostic>> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(Arc::clone(catalog));
        }
        let kernel = self.open_kernel()?;
        let live = self.live_text();
        let catalog = || Arc::new(Catalog::new(kernel, live).with_reach(self.reach()));
        Ok(Arc::clone(self.catalog.get_or_init(catalog)))
    }

    /// Like [`Run::open_catalog`], but reports the error.
    pub fn catalog(&self) -> Result<Arc<Catalog>, Failed> {
        self.reported(self.open_catalog())
    }

    fn reported<T>(&self, result: Result<T, Box<Diagnostic>>) -> Result<T, Failed> {
        result.map_err(|diagnostic| {
            self.report.diagnostic(&self.sources, &diagnostic, None);
            Failed
        })
    }

    /// Returns the module's view of memory, if the module is loaded and the kernel is the running one.
    pub fn live_text(&self) -> Option<Box<dyn LiveText>> {
        if !self.is_running() {
            return None;
        }
        if self.is_bpf() {
            return Some(Box::new(self.memory_text().ok()?));
        }
        Some(Box::new(Live(self.device().ok()?)))
    }

    /// Whether programs are run by BPF; where that was not decided yet, whether they would be.
    fn is_bpf(&self) -> bool {
        let asked = self.options.text(key::BACKEND).unwrap_or_default();
        let decided = asked == "bpf" || self.without_module.get().is_some();
        let absent = || self.device().is_err() && host::module::file(&os::release()).is_none();
        decided || asked == "auto" && absent() && bpf::check().is_ok()
    }

    /// The functions that can be traced, where that is known before it is armed: without the module.
    fn reach(&self) -> Option<Box<dyn Reach>> {
        if !self.is_running() || !self.is_bpf() {
            return None;
        }
        Some(Box::new(bpf::reach::Functions::new(self.memory_text().ok()?)?))
    }

    /// The kernel's text as programs of BPF read it.
    pub fn memory_text(&self) -> Result<Text, bpf::EnableError> {
        let unknown = |error: Box<Diagnostic>| bpf::ProgramError::NoKernel(error.title.clone());
        let kernel = self.open_kernel().map_err(unknown)?;
        Ok(Text::new(kernel, Box::new(bpf::Reader::new()?)))
    }

    /// Opens the module if it is loaded. One descriptor serves the queries and the session of a run.
    pub fn device(&self) -> Result<Arc<Device>, module::Error> {
        match self.device.get() {
            Some(device) => Ok(Arc::clone(device)),
            None => Ok(self.keep_device(Device::open()?)),
        }
    }

    /// Like [`Run::device`], but loads the module if it is not there yet.
    pub fn device_to_trace(&self) -> Result<Arc<Device>, module::Error> {
        if let Some(device) = self.device.get() {
            return Ok(Arc::clone(device));
        }
        let (device, loaded) = Device::open_or_load()?;
        if loaded && self.invocation.verbose {
            self.report.notice("loaded the kernel module kinst (modprobe kinst)");
        }
        Ok(self.keep_device(device))
    }

    fn keep_device(&self, device: Device) -> Arc<Device> {
        let device = Arc::new(device);
        // It is closed by the end of the process, which does not wait until thousands of probes are taken away.
        std::mem::forget(Arc::clone(&device));
        Arc::clone(self.device.get_or_init(|| device))
    }

    fn macros(&self, target: u32) -> Macros {
        let mut scripts = self.invocation.programs.iter().filter(|program| program.origin == Origin::Script);
        let script = scripts.next_back().map_or_else(|| self.report.program.clone(), |s| s.text.clone());
        let mut variables = macro_variables(target);
        if target != 0 && os::pid_namespace().is_some() {
            variables.retain(|(name, _)| name != "target");
        }
        let Invocation { commands, pids, operands, .. } = &self.invocation;
        let targetless = self.traces() && commands.is_empty() && pids.is_empty();
        Macros { script, arguments: operands.clone(), variables, targetless }
    }

    /// Returns the processes of -c and -p; the first is $target.
    pub fn processes(&self) -> Result<Vec<Process>, Failed> {
        let mut processes = Vec::new();
        let mut add = |process: Result<Process, process::Error>| match process {
            Ok(process) => {
                processes.push(process);
                Ok(())
            }
            Err(error) => self.fail_as(&error.to_string(), None),
        };
        for command in &self.invocation.commands {
            add(Process::start(command, &self.start()))?;
        }
        for pid in &self.invocation.pids {
            match pid.parse() {
                Ok(pid) => add(Process::grab(pid))?,
                Err(_) => return self.fail_as(&format!("invalid pid: {pid}"), None),
            }
        }
        Ok(processes)
    }

    /// How the command of -c is started: the options setenv and unsetenv.
    fn start(&self) -> Start {
        let pair = |text: &String| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            (name.to_owned(), value.to_owned())
        };
        let set = self.options.list(key::SETENV).iter().map(pair).collect();
        Start { set, unset: self.options.list(key::UNSETENV).to_vec() }
    }

    pub fn print(&self, text: &str) -> Result<(), Failed> {
        if self.report.print(text) == 0 { Ok(()) } else { Err(Failed) }
    }

    /// Writes to standard output, or appends to the file of -o.
    pub fn put(&self, text: &str) -> Result<(), Failed> {
        let Some(path) = self.invocation.output.as_ref().filter(|_| !text.is_empty()) else {
            return self.print(text);
        };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .or_else(|error| self.fail_as(&format!("failed to open {path}: {}", reason(&error)), None))
    }

    /// Returns how messages refer to a program of the command line: `description` or `script`, and its name.
    pub fn program_name(&self, program: usize) -> (&'static str, &str) {
        match self.invocation.programs.get(program) {
            None => ("description", ""),
            Some(program) if program.origin == Origin::Script => ("script", &program.text),
            // Up to its predicate or body.
            Some(program) => {
                ("description", program.text.split(['{', '/', ';']).next().unwrap_or(&program.text))
            }
        }
    }

    pub fn fail(&self, text: &str, help: Option<&str>) -> Result<u8, Failed> {
        self.fail_as(text, help)
    }

    pub fn fail_as<T>(&self, text: &str, help: Option<&str>) -> Result<T, Failed> {
        self.report.error(text, help);
        Err(Failed)
    }
}

fn macro_variables(target: u32) -> Vec<(String, i64)> {
    let os::Identity { uid, euid, gid, egid } = os::identity();
    // Not by getsid() and the like: rustix panics at 0, which the kernel returns for a session begun outside the
    // process's PID namespace.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |number: usize| {
        after_name.split_whitespace().nth(number - 3).and_then(|f| f.parse().ok()).unwrap_or(0)
    };
    let values = [
        ("pid", std::process::id().into()),
        ("ppid", field(4)),
        ("pgid", field(5)),
        ("sid", field(6)),
        ("uid", uid.into()),
        ("euid", euid.into()),
        ("gid", gid.into()),
        ("egid", egid.into()),
        ("projid", 0),
        ("taskid", 0),
        ("target", target.into()),
    ];
    values.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
