//! options/key.rs: typed keys of the options in use: a misspelt name or a wrong type does not compile.

use std::marker::PhantomData;

use super::table::{Kind, TABLE};

/// The index of an option in [`TABLE`], and the type of its value.
pub struct Key<V> {
    pub(super) index: usize,
    value: PhantomData<V>,
}

impl<V> Clone for Key<V> {
    fn clone(&self) -> Key<V> {
        *self
    }
}

impl<V> Copy for Key<V> {}

/// A yes or no value.
pub struct Flag;
/// A size in bytes, a rate in nanoseconds, or a number.
pub struct Number;
pub struct Text;
pub struct List;

#[derive(Clone, Copy)]
enum Form {
    Flag,
    Number,
    Text,
    List,
}

const fn find(name: &str, form: Form) -> usize {
    let mut index = 0;
    while index < TABLE.len() {
        if is_same(TABLE[index].name, name) {
            let fits = match TABLE[index].kind {
                Kind::Flag => matches!(form, Form::Flag),
                Kind::Size { .. } | Kind::Rate { .. } | Kind::Number { .. } | Kind::Mask => {
                    matches!(form, Form::Number)
                }
                Kind::Choice(_) | Kind::Text | Kind::Version | Kind::Attributes => matches!(form, Form::Text),
                Kind::List => matches!(form, Form::List),
            };
            assert!(fits, "the option has values of another kind");
            return index;
        }
        index += 1;
    }
    panic!("no option has this name")
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

macro_rules! keys {
    ($($key:ident: $value:ident = $name:literal;)*) => {
        $(pub(crate) const $key: Key<$value> = Key { index: find($name, Form::$value), value: PhantomData };)*

        /// The options with a key: exactly the options that have an effect.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

keys! {
    AGGHIST: Flag = "agghist";
    AGGPACK: Flag = "aggpack";
    AGGRATE: Number = "aggrate";
    AGGSIZE: Number = "aggsize";
    AGGSORTKEY: Flag = "aggsortkey";
    AGGSORTKEYPOS: Number = "aggsortkeypos";
    AGGSORTPOS: Number = "aggsortpos";
    AGGSORTREV: Flag = "aggsortrev";
    AGGZOOM: Flag = "aggzoom";
    AMIN: Text = "amin";
    ARGREF: Flag = "argref";
    BACKEND: Text = "backend";
    BUFPOLICY: Text = "bufpolicy";
    BUFRESIZE: Text = "bufresize";
    BUFSIZE: Number = "bufsize";
    CLEANRATE: Number = "cleanrate";
    CPP: Flag = "cpp";
    CPPARGS: List = "cppargs";
    CPPHDRS: Flag = "cpphdrs";
    CPPPATH: Text = "cpppath";
    CPU: Number = "cpu";
    DEFAULTARGS: Flag = "defaultargs";
    DEFINE: List = "define";
    DESTRUCTIVE: Flag = "destructive";
    DROPTAGS: Flag = "droptags";
    DUMP: Text = "dump";
    DYNVARSIZE: Number = "dynvarsize";
    EMPTY: Flag = "empty";
    ENCODING: Text = "encoding";
    ERRTAGS: Flag = "errtags";
    EVALTIME: Text = "evaltime";
    FLOWINDENT: Flag = "flowindent";
    INCDIR: List = "incdir";
    JSTACKFRAMES: Number = "jstackframes";
    JSTACKSTRSIZE: Number = "jstackstrsize";
    LIBDIR: List = "libdir";
    MAXFRAMES: Number = "maxframes";
    MAXPROBES: Number = "maxprobes";
    MISSINGLOCALS: Text = "missinglocals";
    NOCACHE: Flag = "nocache";
    NOINLINE: Flag = "noinline";
    NOJUMP: Flag = "nojump";
    ONCE: Flag = "once";
    NOLIBS: Flag = "nolibs";
    NORESOLVE: Flag = "noresolve";
    NSPEC: Number = "nspec";
    OTLPQUEUE: Number = "otlpqueue";
    OUTPUTFILES: Number = "outputfiles";
    OUTPUTSIZE: Number = "outputsize";
    OUTPUTTIME: Number = "outputtime";
    PGMAX: Number = "pgmax";
    PRINTSIZE: Number = "printsize";
    PROMLABELS: List = "promlabels";
    PROMSERIES: Number = "promseries";
    PSPEC: Flag = "pspec";
    QUIET: Flag = "quiet";
    QUIETRESIZE: Flag = "quietresize";
    RAWBYTES: Flag = "rawbytes";
    SETENV: List = "setenv";
    SOURCEPATH: List = "sourcepath";
    SPECSIZE: Number = "specsize";
    STACKFRAMES: Number = "stackframes";
    STACKINDENT: Number = "stackindent";
    STACKLINES: Flag = "stacklines";
    STATUSRATE: Number = "statusrate";
    STDC: Text = "stdc";
    STRSIZE: Number = "strsize";
    SWITCHRATE: Number = "switchrate";
    SYSLIBDIR: Text = "syslibdir";
    SYSROOT: Text = "sysroot";
    TREE: Number = "tree";
    UNDEF: List = "undef";
    UNSETENV: List = "unsetenv";
    USTACKCOPY: Number = "ustackcopy";
    USTACKFRAMES: Number = "ustackframes";
    VERBOSE: Flag = "verbose";
    VERSION: Text = "version";
    VMLINUX: Text = "vmlinux";
    ZDEFS: Flag = "zdefs";
}
