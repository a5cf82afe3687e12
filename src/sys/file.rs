// SPDX-License-Identifier: GPL-2.0

//! `struct file`s of our own: descriptors that stand for a Rust value.

use crate::sys::num::Signed;
use crate::{
    bindings,
    sys::user::UserAddr, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        from_result,
        VTABLE_DEFAULT_ERROR, //
    },
    fs::{
        file::{
            flags,
            FileDescriptorReservation,
            LocalFile, //
        },
        File, //
    },
    module::this_module,
    prelude::*,
    sync::{
        aref::ARef,
        poll::PollTable,
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable, //
};

/// Where a `read()` puts what it has.
pub(crate) struct Reading<'a> {
    pub(crate) file: &'a File,
    pub(crate) to: UserAddr,
    pub(crate) len: usize,
    pub(crate) pos: &'a mut bindings::loff_t,
}

impl Reading<'_> {
    /// Whether the reader does not want to wait.
    pub(crate) fn nonblocking(&self) -> bool {
        self.file.flags() & flags::O_NONBLOCK != 0
    }

    /// Answers from a text that is there as a whole.
    pub(crate) fn answer_from(self, text: &[u8]) -> Result<usize> {
        let at = usize::try_from(*self.pos).map_err(|_| EINVAL)?;
        let rest = text.get(at..).unwrap_or_default();
        let part = rest.get(..self.len.min(rest.len())).unwrap_or_default();
        self.to.write_bytes(part)?;
        *self.pos = self
            .pos
            .checked_add(i64::try_from(part.len()).map_err(|_| EOVERFLOW)?)
            .ok_or(EOVERFLOW)?;
        Ok(part.len())
    }
}

/// How a file is opened by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    WriteOnly,
    ReadWrite,
}

/// What descriptors of one type are and do.
#[vtable]
pub(crate) trait FileType: Sized + Send + Sync + 'static {
    /// What `/proc/PID/fd` shows.
    const NAME: &'static CStr;

    /// What an inode holds in `i_private` (as a `KBox`) whose files are of this type.
    type Source: Send + Sync + 'static;

    /// Opens a file by its inode.
    fn open(_source: &Self::Source, _access: Access) -> Result<Arc<Self>> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// How many bytes were read.
    fn read(_this: ArcBorrow<'_, Self>, _reading: Reading<'_>) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `EPOLL*` bits.
    fn poll(_this: ArcBorrow<'_, Self>, _file: &File, _table: PollTable<'_>) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Starts or stops `SIGIO`.
    fn fasync(_this: ArcBorrow<'_, Self>, _fd: c_int, _file: &File, _on: c_int) -> Result<c_int> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The last descriptor was closed.
    fn release(_this: Arc<Self>) {}
}

/// The file operations of `T`. `private_data` is an `Arc<T>`.
pub(crate) struct Fops<T>(PhantomData<T>);

impl<T: FileType> Fops<T> {
    const TABLE: bindings::file_operations = bindings::file_operations {
        owner: this_module::<crate::LocalModule>().as_ptr(),
        open: if T::HAS_OPEN { Some(Self::open) } else { None },
        read: if T::HAS_READ { Some(Self::read) } else { None },
        poll: if T::HAS_POLL { Some(Self::poll) } else { None },
        fasync: if T::HAS_FASYNC {
            Some(Self::fasync)
        } else {
            None
        },
        release: Some(Self::release),
        llseek: if T::HAS_OPEN {
            Some(bindings::default_llseek)
        } else {
            None
        },
        ..pin_init::zeroed()
    };

    pub(crate) const fn table() -> &'static bindings::file_operations {
        &Self::TABLE
    }

    /// # Safety
    ///
    /// For the VFS, on an inode with these operations, whose `i_private` is a `KBox<T::Source>`.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        from_result(|| {
            // SAFETY: By this function's contract; the inode is kept by the file.
            let source = unsafe { &*(*inode).i_private.cast::<T::Source>() };
            // SAFETY: Valid for this call.
            let access = match unsafe {
                (
                    bindings::shverbs_may_read(file),
                    bindings::shverbs_may_write(file),
                )
            } {
                (true, true) => Access::ReadWrite,
                (_, true) => Access::WriteOnly,
                _ => Access::ReadOnly,
            };
            let this = T::open(source, access)?;
            // SAFETY: The file is being opened; `release` takes this back.
            unsafe { (*file).private_data = this.into_foreign() };
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// For the VFS, on a file with these operations.
    unsafe extern "C" fn read(
        file: *mut bindings::file,
        to: *mut c_char,
        len: usize,
        pos: *mut bindings::loff_t,
    ) -> isize {
        from_result(|| {
            // SAFETY: Set when the file was made or opened, until `release`.
            let this = unsafe { Arc::<T>::borrow((*file).private_data) };
            // SAFETY: Valid for this call.
            let (file, pos) = unsafe { (File::from_raw_file(file), &mut *pos) };
            let n = T::read(
                this,
                Reading {
                    file,
                    to: UserAddr::from_usize(to as usize),
                    len,
                    pos,
                },
            )?;
            isize::try_from(n).map_err(|_| EOVERFLOW)
        })
    }

    /// # Safety
    ///
    /// For the VFS, on a file with these operations.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        table: *mut bindings::poll_table_struct,
    ) -> bindings::__poll_t {
        // SAFETY: Set when the file was made or opened, until `release`.
        let this = unsafe { Arc::<T>::borrow((*file).private_data) };
        // SAFETY: Valid for this call.
        let (file, table) = unsafe { (File::from_raw_file(file), PollTable::from_raw(table)) };
        T::poll(this, file, table)
    }

    /// # Safety
    ///
    /// For the VFS, on a file with these operations.
    unsafe extern "C" fn fasync(fd: c_int, file: *mut bindings::file, on: c_int) -> c_int {
        from_result(|| {
            // SAFETY: Set when the file was made or opened, until `release`.
            let this = unsafe { Arc::<T>::borrow((*file).private_data) };
            // SAFETY: Valid for this call.
            T::fasync(this, fd, unsafe { File::from_raw_file(file) }, on)
        })
    }

    /// # Safety
    ///
    /// For the VFS, once, on a file with these operations.
    unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: Set when the file was made or opened, and this runs once.
        T::release(unsafe { Arc::<T>::from_foreign((*file).private_data) });
        0
    }
}

/// A descriptor that user space can see only once it is published. Undone if it is dropped.
pub(crate) struct PendingFd {
    fd: FileDescriptorReservation,
    file: ARef<File>,
}

impl PendingFd {
    /// A descriptor, close-on-exec, for `value`, open for reading or, with `O_RDWR`, for both.
    pub(crate) fn new<T: FileType>(value: Arc<T>, mode: u32) -> Result<Self> {
        let fd = FileDescriptorReservation::get_unused_fd_flags(flags::O_CLOEXEC)?;
        let private = value.into_foreign();
        // SAFETY: The name and the table are static; the file takes `private` over.
        let made = from_err_ptr(unsafe {
            bindings::anon_inode_getfile(
                T::NAME.as_char_ptr(),
                ptr::from_ref(Fops::<T>::table()),
                private,
                mode.to_signed(),
            )
        });
        let file = match made {
            Ok(file) => NonNull::new(file).ok_or(ENOMEM)?,
            Err(e) => {
                // SAFETY: No file took it over.
                drop(unsafe { Arc::<T>::from_foreign(private) });
                return Err(e);
            }
        };
        // SAFETY: A new file, whose only reference is ours, and whose position nobody uses.
        let file = unsafe { ARef::from_raw(file.cast::<File>()) };
        Ok(Self { fd, file })
    }

    /// The number that user space will have.
    pub(crate) fn number(&self) -> u32 {
        self.fd.reserved_fd()
    }

    pub(crate) fn publish(self) {
        self.fd.fd_install(self.file);
    }
}

/// What the caller's descriptor stands for: `EBADF` if it is not one, or of another type.
pub(crate) fn lookup<T: FileType>(fd: i64) -> Result<Arc<T>> {
    let fd = u32::try_from(fd).map_err(|_| EBADF)?;
    let file = LocalFile::fget(fd).map_err(|_| EBADF)?;
    // SAFETY: The file is counted; its operations do not change.
    let fops = unsafe { (*file.as_ptr()).f_op };
    if !ptr::eq(fops, Fops::<T>::table()) {
        return Err(EBADF);
    }
    // SAFETY: By its operations the file is one of `T`, and it is counted.
    let this = unsafe { Arc::<T>::borrow((*file.as_ptr()).private_data) };
    Ok(this.into())
}

/// The file behind a descriptor of the caller, be it one of `O_PATH`; `EBADF` if there is none.
pub(crate) fn any(fd: i64) -> Result<ARef<LocalFile>> {
    let fd = u32::try_from(fd).map_err(|_| EBADF)?;
    // SAFETY: Looks at the caller's descriptors only.
    let file = NonNull::new(unsafe { bindings::fget_raw(fd) }).ok_or(EBADF)?;
    // SAFETY: The reference is ours.
    Ok(unsafe { ARef::from_raw(file.cast()) })
}
