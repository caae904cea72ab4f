//! bpf/helper.rs: the kernel functions that programs call (helpers), by id.

/// Rows of the kernel's enum bpf_func_id: the name here, the id, and the kernel's name.
macro_rules! helpers {
    ($($name:ident $number:literal $text:literal,)*) => {
        /// A kernel function that programs may call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Helper {
            $(
                #[doc = concat!("`bpf_", $text, "()`")]
                $name = $number
            ),*
        }

        impl Helper {
            /// The name without its `bpf_`: `map_lookup_elem`.
            pub fn name(self) -> &'static str {
                match self { $(Helper::$name => $text),* }
            }
        }
    };
}

helpers! {
    MapLookupElem 1 "map_lookup_elem",
    MapUpdateElem 2 "map_update_elem",
    MapDeleteElem 3 "map_delete_elem",
    KtimeGetNs 5 "ktime_get_ns",
    GetPrandomU32 7 "get_prandom_u32",
    GetSmpProcessorId 8 "get_smp_processor_id",
    GetCurrentPidTgid 14 "get_current_pid_tgid",
    GetCurrentUidGid 15 "get_current_uid_gid",
    GetCurrentComm 16 "get_current_comm",
    GetCurrentTask 35 "get_current_task",
    ProbeWriteUser 36 "probe_write_user",
    PerfEventReadValue 55 "perf_event_read_value",
    GetStack 67 "get_stack",
    ProbeReadUser 112 "probe_read_user",
    ProbeReadKernel 113 "probe_read_kernel",
    ProbeReadUserStr 114 "probe_read_user_str",
    ProbeReadKernelStr 115 "probe_read_kernel_str",
    SendSignal 109 "send_signal",
    RingbufOutput 130 "ringbuf_output",
    RingbufQuery 134 "ringbuf_query",
    GetCurrentTaskBtf 158 "get_current_task_btf",
    GetFuncIp 173 "get_func_ip",
    GetAttachCookie 174 "get_attach_cookie",
    TaskPtRegs 175 "task_pt_regs",
    GetFuncArg 183 "get_func_arg",
    GetFuncRet 184 "get_func_ret",
    KtimeGetTaiNs 208 "ktime_get_tai_ns",
}

/// A flag of [`Helper::GetStack`]: the program's stack. The lowest bits are the number of addresses to skip.
pub const USER_STACK: i32 = 1 << 8;
