// SPDX-License-Identifier: GPL-2.0

//! Mappings of doorbell pages and rings.
//!
//! Drivers want the `struct file` of a mapping to be the context's home file, whichever file user
//! space called `mmap()` on. So a context has a *map file*, an internal `struct file` that every
//! mapping is moved to. It keeps the context as long as there are mappings, and all mappings of a
//! context are on one list, `umaps` of the home file, to be zapped when the device goes.
//!
//! Lock order: `mmap_lock` of the address space, `umap_lock` of the home file. [`Home::map`] is
//! taken under `mmap_lock`, too, and nothing is taken under it.

use super::{
    device::{
        self,
        Live, //
    },
    ucontext::UcontextRef,
    ufile::{
        FileBox,
        UFile, //
    },
};
use crate::bindings;
use crate::sys::num::Signed;
use core::{
    marker::PhantomData,
    mem::offset_of,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    fs::File,
    module::this_module,
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex, //
    },
};

/// What a map file keeps alive.
pub(crate) trait Keep: Send + Sync {}

/// What a home file has beside the C structure.
#[pin_data]
pub(crate) struct Home {
    #[pin]
    map: Mutex<MapFile>,
}

/// # Invariants
///
/// `file` is the newest map file; it may be on its way out, but is not freed before its `release`
/// has lowered `files`. `files` counts the map files whose `release` has not run, and `keep` is
/// there as long as that is not zero.
struct MapFile {
    file: *mut bindings::file,
    files: u32,
    keep: Option<Arc<dyn Keep>>,
}

// SAFETY: A `struct file` may be used by any task.
unsafe impl Send for MapFile {}

impl Home {
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            map <- new_mutex!(MapFile { file: ptr::null_mut(), files: 0, keep: None }),
        }? Error)
    }
}

/// The map file of `home`, made if there is none. As long as it exists it keeps `keep`, which must
/// own `home`.
fn map_file(home: &FileBox<Home>, keep: impl FnOnce() -> Arc<dyn Keep>) -> Result<ARef<File>> {
    let mut map = home.data().map.lock();
    // SAFETY: By the invariant of `MapFile` `file` is null or not freed while we hold the lock.
    let file = unsafe { bindings::get_file_active(&mut map.file) };
    if let Some(file) = NonNull::new(file) {
        // SAFETY: `get_file_active` gave us a reference.
        return Ok(unsafe { ARef::from_raw(file.cast()) });
    }
    // SAFETY: The name and the table are static; `release` takes `keep` back.
    let file = from_err_ptr(unsafe {
        bindings::anon_inode_getfile(
            c"[shverbs-context]".as_char_ptr(),
            &raw const MAP_FOPS.0,
            home.ufile().as_raw().cast(),
            bindings::O_RDWR.to_signed(),
        )
    })?;
    map.file = file;
    map.files += 1;
    map.keep = Some(keep());
    let file = NonNull::new(file).ok_or(ENOMEM)?;
    // SAFETY: A new file, whose only reference is ours, and whose position nobody uses.
    Ok(unsafe { ARef::from_raw(file.cast()) })
}

struct SyncTable<T>(T);
// SAFETY: Never written.
unsafe impl<T> Sync for SyncTable<T> {}

static MAP_FOPS: SyncTable<bindings::file_operations> = SyncTable(bindings::file_operations {
    owner: this_module::<crate::LocalModule>().as_ptr(),
    release: Some(release),
    ..pin_init::zeroed()
});

static UMAP_OPS: SyncTable<bindings::vm_operations_struct> =
    SyncTable(bindings::vm_operations_struct {
        open: Some(umap_open),
        close: Some(umap_close),
        fault: Some(umap_fault),
        ..pin_init::zeroed()
    });

/// # Safety
///
/// For the VFS, on a map file.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: `keep` owns the home file until it is dropped below.
    let home = unsafe { FileBox::<Home>::from_private((*file).private_data) };
    let keep = {
        let mut map = home.data().map.lock();
        if map.file == file {
            map.file = ptr::null_mut();
        }
        map.files -= 1;
        if map.files == 0 {
            map.keep.take()
        } else {
            None
        }
    };
    // The home file may go with it, so not under its lock.
    drop(keep);
    0
}

/// A mapping in the making.
///
/// # Invariants
///
/// The VFS has passed it to a file's `mmap`, which has not returned.
pub(crate) struct NewVma<'a>(*mut bindings::vm_area_struct, PhantomData<&'a ()>);

impl NewVma<'_> {
    /// # Safety
    ///
    /// `vma` must be a new mapping that the VFS has passed to a file's `mmap`, which does not return
    /// before `'a` ends.
    pub(crate) unsafe fn new(vma: *mut bindings::vm_area_struct) -> Self {
        // INVARIANT: By this function's contract.
        Self(vma, PhantomData)
    }
}

/// Maps what the driver has at the offset of `vma` into the calling process.
///
/// Errors are the driver's; `EIO` while mappings are being taken back.
pub(crate) fn mmap(
    live: &Live<'_>,
    context: &UcontextRef<'_>,
    home: &FileBox<Home>,
    keep: impl FnOnce() -> Arc<dyn Keep>,
    vma: NewVma<'_>,
) -> Result {
    let vma = vma.0;
    let mmap = live.ops().mmap.ok_or(ENODEV)?;
    let file = map_file(home, keep)?;
    // SAFETY: The rwsem is initialised.
    let rwsem = unsafe { &raw mut (*home.ufile().as_raw()).hw_destroy_rwsem };
    // SAFETY: As above.
    if unsafe { bindings::down_read_trylock(rwsem) } == 0 {
        return Err(EIO);
    }
    // SAFETY: A new mapping, by the type's invariant.
    unsafe {
        bindings::vma_set_file(vma, file.as_ptr());
        (*vma).vm_ops = &raw const UMAP_OPS.0;
    }
    // SAFETY: Both are valid for the call.
    let mapped = to_result(unsafe { mmap(context.as_raw(), vma) });
    // SAFETY: Locked above.
    unsafe { bindings::up_read(rwsem) };
    mapped
}

type Umap = bindings::rdma_umap_priv;

/// # Safety
///
/// `vma` must be a mapping with [`UMAP_OPS`], so its file is a map file.
unsafe fn home_of<'a>(vma: *mut bindings::vm_area_struct) -> &'a UFile {
    // SAFETY: By this function's contract; the mapping's file keeps the home file.
    unsafe { FileBox::<Home>::from_private((*(*vma).vm_file).private_data) }.ufile()
}

/// A mapping was copied or split: the copy needs an entry of its own on the list.
///
/// # Safety
///
/// For the memory manager, on a mapping with these operations.
unsafe extern "C" fn umap_open(vma: *mut bindings::vm_area_struct) {
    // SAFETY: By this function's contract.
    let home = unsafe { home_of(vma) };
    // SAFETY: As the original's, which the copy still shares.
    let original = unsafe { (*vma).vm_private_data }.cast::<Umap>();
    if original.is_null() {
        return;
    }
    // While the device lives its removal has not begun to zap, and will find what we add.
    let added = device::live(home).and_then(|_live| {
        let umap = KBox::new(pin_init::zeroed::<Umap>(), GFP_KERNEL)?;
        // SAFETY: The original is not freed before this returns; the core takes the new one over,
        // and `umap_close` frees it.
        unsafe { bindings::rdma_umap_priv_init(KBox::into_raw(umap), vma, (*original).entry) };
        Ok(())
    });
    if added.is_err() {
        // Nobody would take the pages back later.
        // SAFETY: The memory manager holds the address space's lock.
        unsafe {
            (*vma).vm_private_data = ptr::null_mut();
            zap(vma);
        }
    }
}

/// # Safety
///
/// For the memory manager, on a mapping with these operations.
unsafe extern "C" fn umap_close(vma: *mut bindings::vm_area_struct) {
    // SAFETY: By this function's contract.
    let home = unsafe { home_of(vma) };
    // SAFETY: Ours, if it is not null.
    let umap = unsafe { (*vma).vm_private_data }.cast::<Umap>();
    if umap.is_null() {
        return;
    }
    let lock = UmapLock::new(home);
    // SAFETY: `umap` is valid, and the list locked.
    unsafe { lock.forget(umap) };
    drop(lock);
    // SAFETY: From `kzalloc` by the core or `umap_open`, and off the list.
    unsafe { bindings::kfree(umap.cast()) };
}

/// A touch of a mapping that was zapped: from then on it shows one page of zeroes.
///
/// # Safety
///
/// For the memory manager, on a mapping with these operations.
unsafe extern "C" fn umap_fault(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    // SAFETY: Valid for this call.
    let (vma, address) = unsafe { ((*vmf).__bindgen_anon_1.vma, (*vmf).__bindgen_anon_1.address) };
    // SAFETY: As above.
    if unsafe { (*vma).vm_private_data }.is_null() {
        return bindings::vm_fault_reason_VM_FAULT_SIGBUS;
    }
    // SAFETY: As above.
    let flags = unsafe { (*vma).__bindgen_anon_2.vm_flags };
    let page = if flags & (bindings::VM_WRITE | bindings::VM_MAYWRITE) == 0 {
        // SAFETY: Always there.
        unsafe { bindings::shverbs_zero_page(address) }
    } else {
        // SAFETY: By this function's contract.
        UmapLock::new(unsafe { home_of(vma) }).page_for_writers()
    };
    if page.is_null() {
        return bindings::vm_fault_reason_VM_FAULT_SIGBUS;
    }
    // SAFETY: Valid; the fault handler's caller takes this reference over.
    unsafe {
        bindings::shverbs_get_page(page);
        (*vmf).page = page;
    }
    0
}

/// # Safety
///
/// The lock of `vma`'s address space must be held.
unsafe fn zap(vma: *mut bindings::vm_area_struct) {
    // SAFETY: By this function's contract.
    unsafe {
        let (start, end) = (
            (*vma).__bindgen_anon_1.__bindgen_anon_1.vm_start,
            (*vma).__bindgen_anon_1.__bindgen_anon_1.vm_end,
        );
        bindings::zap_special_vma_range(vma, start, end - start);
    }
}

/// The list of mappings of a home file, locked.
struct UmapLock<'a>(&'a UFile);

impl<'a> UmapLock<'a> {
    fn new(home: &'a UFile) -> Self {
        // SAFETY: Initialised.
        unsafe { bindings::mutex_lock(&raw mut (*home.as_raw()).umap_lock) };
        Self(home)
    }

    fn head(&self) -> *mut bindings::list_head {
        // SAFETY: In bounds.
        unsafe { &raw mut (*self.0.as_raw()).umaps }
    }

    fn first(&self) -> Option<*mut Umap> {
        self.next(self.head())
    }

    fn next(&self, at: *mut bindings::list_head) -> Option<*mut Umap> {
        // SAFETY: On the list, which is locked.
        let next = unsafe { (*at).next };
        (next != self.head()).then(|| next.wrapping_byte_sub(offset_of!(Umap, list)).cast())
    }

    /// Takes a mapping off the list.
    ///
    /// # Safety
    ///
    /// `umap` must be valid, and of this list.
    unsafe fn forget(&self, umap: *mut Umap) {
        // SAFETY: By this function's contract; a node that is off is a list of its own.
        unsafe {
            bindings::shverbs_list_del_init(&raw mut (*umap).list);
            let entry = core::mem::replace(&mut (*umap).entry, ptr::null_mut());
            if !entry.is_null() {
                bindings::rdma_user_mmap_entry_put(entry);
            }
        }
    }

    /// The page that zapped mappings of this file share.
    fn page_for_writers(&self) -> *mut bindings::page {
        // SAFETY: The field is guarded by this lock; the page is freed with the file.
        unsafe {
            let page = &raw mut (*self.0.as_raw()).disassociate_page;
            if (*page).is_null() {
                *page = bindings::shverbs_alloc_zeroed_page();
            }
            *page
        }
    }
}

impl Drop for UmapLock<'_> {
    fn drop(&mut self) {
        // SAFETY: Locked in `new`.
        unsafe { bindings::mutex_unlock(&raw mut (*self.0.as_raw()).umap_lock) };
    }
}

/// Takes back all mappings of a home file. No new ones may be made meanwhile, other than by
/// [`umap_open`] of a live device.
pub(crate) fn zap_all(home: &UFile) {
    // SAFETY: The rwsem is initialised.
    let rwsem = unsafe { &raw mut (*home.as_raw()).hw_destroy_rwsem };
    // SAFETY: As above.
    unsafe { bindings::down_write(rwsem) };
    while let Some(mm) = first_mm(home) {
        zap_in(home, mm);
        // SAFETY: The reference of `first_mm`.
        unsafe { bindings::mmput(mm) };
    }
    // SAFETY: Locked above.
    unsafe { bindings::up_write(rwsem) };
}

/// The address space of the first mapping, with a reference. Mappings of one that is on its way out
/// are forgotten: nobody can touch them any more.
fn first_mm(home: &UFile) -> Option<*mut bindings::mm_struct> {
    let lock = UmapLock::new(home);
    while let Some(umap) = lock.first() {
        // SAFETY: On the list, so neither the mapping nor its address space is freed.
        let mm = unsafe { (*(*umap).vma).vm_mm };
        // SAFETY: As above.
        if unsafe { bindings::mmget_not_zero(mm) } {
            return Some(mm);
        }
        // SAFETY: On this list.
        unsafe { lock.forget(umap) };
    }
    None
}

fn zap_in(home: &UFile, mm: *mut bindings::mm_struct) {
    // SAFETY: The caller holds a reference.
    unsafe { bindings::mmap_read_lock(mm) };
    let lock = UmapLock::new(home);
    let mut at = lock.first();
    while let Some(umap) = at {
        // SAFETY: On the list.
        at = lock.next(unsafe { &raw mut (*umap).list });
        // SAFETY: On the list, so the mapping is valid.
        let vma = unsafe { (*umap).vma };
        // SAFETY: As above.
        if unsafe { (*vma).vm_mm } == mm {
            // SAFETY: On this list.
            unsafe { lock.forget(umap) };
            // SAFETY: Its address space is locked.
            unsafe { zap(vma) };
        }
    }
    drop(lock);
    // SAFETY: Locked above.
    unsafe { bindings::mmap_read_unlock(mm) };
}
