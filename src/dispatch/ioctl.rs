// SPDX-License-Identifier: GPL-2.0

//! `RDMA_VERBS_IOCTL`.

use super::{
    call::Call,
    method::{
        Attr,
        Kind,
        Method,
        UHW_IN,
        UHW_OUT, //
    },
};
use crate::sys::num::Signed;
use crate::{
    abi,
    bindings,
    object::OpenFile,
    rdma::bundle::{
        Bundle,
        Span,
        UserAttr, //
    },
    sys::user::UserAddr,
    verbs, //
};
use kernel::prelude::*;

/// The most that a header and its attributes may take.
const MAX_LENGTH: usize = kernel::page::PAGE_SIZE;
const MANDATORY: u16 = bindings::UVERBS_ATTR_F_MANDATORY as u16;

/// Runs the method that the header at `at` asks for.
pub(crate) fn run(file: &OpenFile, cmd: u32, at: UserAddr) -> Result {
    if cmd != abi::RDMA_VERBS_IOCTL {
        return Err(ENOIOCTLCMD);
    }
    let header: abi::IoctlHeader = at.read()?;
    let count = usize::from(header.num_attrs);
    let length = size_of::<abi::IoctlHeader>() + count * abi::IOCTL_ATTR_SIZE;
    if usize::from(header.length) != length || length > MAX_LENGTH {
        return Err(EINVAL);
    }
    if header.reserved1 != 0 || header.reserved2 != 0 {
        return Err(EPROTONOSUPPORT);
    }
    let live = file.data().device().live();
    let live = live.as_ref().ok();
    if live.is_some_and(|live| live.driver_id() != header.driver_id) {
        return Err(EINVAL);
    }
    let method = verbs::method(live, header.object_id, header.method_id).ok_or(EPROTONOSUPPORT)?;
    if live.is_none() && !method.after_removal {
        return Err(EIO);
    }
    let attrs = at.offset(size_of::<abi::IoctlHeader>())?;
    Bundle::with(file.ufile(), attrs, count, method.keys, |bundle| {
        parse(method, bundle)?;
        let mut call = Call::new(live, file, bundle);
        if method.has_udata {
            set_udata(&mut call)?;
        }
        // EPROTONOSUPPORT tells user space that there is no such method, and nothing else.
        let ran = (method.run)(&mut call);
        ran.map_err(|e| if e == EPROTONOSUPPORT { EINVAL } else { e })?;
        call.commit()
    })
}

fn set_udata(call: &mut Call<'_, '_>) -> Result {
    let input = call.span_or_empty(u32::from(UHW_IN.id))?;
    let output = match call.attr(u32::from(UHW_OUT.id)) {
        Ok(attr) => call.out_span(attr)?,
        Err(_) => Span::EMPTY,
    };
    call.bundle.set_udata(input, output);
    Ok(())
}

/// Checks what user space passed against what the method takes.
///
/// `EPROTONOSUPPORT` for an attribute that the method does not know and user space insists on,
/// `EOPNOTSUPP` for one with more in it than this kernel knows, and `EINVAL` for all else.
fn parse(method: &Method, bundle: &mut Bundle<'_>) -> Result {
    for index in 0..bundle.count() {
        let user = bundle.user_attr(index).ok_or(EINVAL)?;
        let Some((key, attr)) = method.attr(user.id) else {
            if user.flags & MANDATORY != 0 {
                return Err(EPROTONOSUPPORT);
            }
            continue;
        };
        if bundle.is_present(key) {
            return Err(EINVAL);
        }
        check(attr, &user)?;
        bundle.fill(key, index)?;
    }
    if method.mandatory & !bundle.present() != 0 {
        return Err(EINVAL);
    }
    Ok(())
}

fn check(attr: &Attr, user: &UserAttr) -> Result {
    match attr.kind {
        Kind::In { min, max, tail } => {
            if user.len > max && tail && !is_tail_zero(user, max)? {
                return Err(EOPNOTSUPP);
            }
            check_len(user.len, min, max, tail)?;
        }
        Kind::Out { min, max, tail } => check_len(user.len, min, max, tail)?,
        Kind::Handle | Kind::Fd => {
            if user.len != 0 {
                return Err(EINVAL);
            }
        }
        Kind::RawFd => {
            if user.len != 0 || i32::try_from(user.data.to_signed()).is_err() {
                return Err(EINVAL);
            }
        }
    }
    if user.extra != 0 {
        return Err(EINVAL);
    }
    Ok(())
}

fn check_len(len: u16, min: u16, max: u16, tail: bool) -> Result {
    if len < min || (len > max && !tail) {
        return Err(EINVAL);
    }
    Ok(())
}

fn is_tail_zero(user: &UserAttr, known: u16) -> Result<bool> {
    let (known, len) = (usize::from(known), usize::from(user.len));
    if len <= size_of::<u64>() {
        let bytes = user.data.to_ne_bytes();
        return Ok(bytes
            .get(known..len)
            .unwrap_or_default()
            .iter()
            .all(|&b| b == 0));
    }
    // What cannot be read is not zero either.
    Ok(UserAddr::new(user.data)?
        .offset(known)?
        .is_zero(len - known)
        .unwrap_or(false))
}

#[kunit_tests(shverbs_ioctl)]
mod tests {
    use super::*;

    const IN: Attr = Attr::input::<u32>(0);
    const STRUCT: Attr = Attr::output_struct::<u64>(1, 4);

    fn user(len: u16, data: u64) -> UserAttr {
        UserAttr {
            id: 0,
            len,
            flags: 0,
            extra: 0,
            data,
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(check(&IN, &user(4, 0)), Ok(()));
        assert_eq!(check(&IN, &user(3, 0)), Err(EINVAL));
        assert_eq!(check(&IN, &user(5, 0)), Err(EINVAL));
        assert_eq!(check(&STRUCT, &user(3, 0)), Err(EINVAL));
        assert_eq!(check(&STRUCT, &user(u16::MAX, 0)), Ok(()));
    }

    #[test]
    fn what_is_not_known_must_be_zero() {
        let attr = Attr::input_struct::<u32>(0, 4);
        assert_eq!(check(&attr, &user(8, 0xffff_ffff)), Ok(()));
        assert_eq!(check(&attr, &user(8, 1 << 32)), Err(EOPNOTSUPP));
        assert_eq!(check(&attr, &user(2, 0)), Err(EINVAL));
    }

    #[test]
    fn handles_and_descriptors_have_no_length() {
        assert_eq!(check(&Attr::handle(0), &user(0, 3)), Ok(()));
        assert_eq!(check(&Attr::handle(0), &user(4, 3)), Err(EINVAL));
        assert_eq!(check(&Attr::raw_fd(0), &user(0, u64::MAX)), Ok(()));
        assert_eq!(check(&Attr::raw_fd(0), &user(0, 1 << 40)), Err(EINVAL));
    }

    #[test]
    fn reserved_bytes_are_zero() {
        let mut attr = user(4, 0);
        attr.extra = 1;
        assert_eq!(check(&IN, &attr), Err(EINVAL));
    }

    #[test]
    fn methods_find_their_attributes() {
        static METHOD: Method = Method::new(0, &[IN, STRUCT.optional(), UHW_IN], |_| Ok(()));
        assert!(METHOD
            .attr(0)
            .is_some_and(|(key, attr)| key == 0 && attr.mandatory));
        assert!(METHOD
            .attr(1)
            .is_some_and(|(key, attr)| key == 2 && !attr.mandatory));
        assert!(METHOD.attr(UHW_IN.id).is_some_and(|(key, _)| key == 1));
        assert!(METHOD.attr(2).is_none());
        assert!(METHOD.attr(0x2000).is_none());
        assert_eq!(METHOD.mandatory, 1);
        assert_eq!(METHOD.keys, 3);
    }
}
