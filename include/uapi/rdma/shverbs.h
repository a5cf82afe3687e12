/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * shverbs: the user space ABI of shared RDMA objects.
 *
 * Everything here goes through the RDMA_VERBS_IOCTL of rdma_user_ioctl_cmds.h,
 * on a file descriptor of /dev/infiniband/uverbsN that has a context, in the
 * same TLV format as the methods of ib_user_ioctl_cmds.h.  Object and method
 * ids lie in a name space of their own, so that stock ib_uverbs answers
 * EPROTONOSUPPORT to all of them; that is how a program learns that it runs on
 * ib_uverbs.
 *
 * "Const" attributes are 8 bytes, inline, as UVERBS_ATTR_CONST_IN; "flags" are 4
 * or 8 bytes, inline, and an unknown bit gives EINVAL.
 */
#ifndef _UAPI_RDMA_SHVERBS_H
#define _UAPI_RDMA_SHVERBS_H

#include <linux/types.h>

#define SHVERBS_ABI_VERSION	1

/* The name space of object and method ids. */
#define SHVERBS_ID_NS		0xE000

/* Where the object file system is mounted, and its type. */
#define SHVERBS_FS_TYPE		"shverbs"
#define SHVERBS_FS_MOUNT_POINT	"/sys/fs/shverbs"
#define SHVERBS_FS_MAGIC	0x73687662	/* "shvb" */

enum shverbs_objects {
	SHVERBS_OBJECT_SHARE = SHVERBS_ID_NS,
};

enum shverbs_methods_share {
	SHVERBS_METHOD_INFO = SHVERBS_ID_NS,
	SHVERBS_METHOD_EXPORT,
	SHVERBS_METHOD_IMPORT,
	SHVERBS_METHOD_PUBLISH,
	SHVERBS_METHOD_RELEASE,
	SHVERBS_METHOD_ATTACH_CONTEXT,
	SHVERBS_METHOD_HOLDERS,
	SHVERBS_METHOD_REVOKE,
};

/*
 * What the owner of a handle, an object fd or a name may do with the object.
 * No import gives more than its object fd has, and no export or name more than
 * the handle or fd that it is made from.
 */
enum shverbs_rights {
	SHVERBS_RIGHT_USE	= 1 << 0, /* refer to it from one's own objects, get its keys */
	SHVERBS_RIGHT_MODIFY	= 1 << 1, /* modify, resize, rereg, attach */
	SHVERBS_RIGHT_SHARE	= 1 << 2, /* export and publish it on */
	SHVERBS_RIGHT_REVOKE	= 1 << 3, /* destroy it under its other owners */
};

enum shverbs_backend {
	SHVERBS_BACKEND_GENERIC,
	SHVERBS_BACKEND_RXE,
	SHVERBS_BACKEND_MTHCA,
	SHVERBS_BACKEND_MLX5,
};

/*
 * INFO: what this kernel can do with this device.  All attributes are optional.
 */
enum shverbs_attrs_info {
	SHVERBS_ATTR_INFO_VERSION,	/* out, u32: SHVERBS_ABI_VERSION */
	SHVERBS_ATTR_INFO_BACKEND,	/* out, u32: enum shverbs_backend */
	/*
	 * out, u64: bit n is set where objects of id n (enum
	 * uverbs_default_objects) can be exported, published and imported; bit
	 * UVERBS_OBJECT_DEVICE stands for contexts
	 */
	SHVERBS_ATTR_INFO_SHAREABLE,
};

enum shverbs_export_flags {
	/*
	 * Who imports it may lose it to REVOKE.  Whoever shares an object first,
	 * by EXPORT or PUBLISH, decides this for good; a PUBLISH that fails for
	 * its directory or name has decided, too.
	 */
	SHVERBS_EXPORT_REVOCABLE = 1 << 0,
	/*
	 * The import takes the exporter's handle away, in one step: when the one
	 * comes the other goes, and if the import fails, or nobody imports the
	 * fd, it stays.  It can be imported once, ESTALE afterwards; EBUSY while
	 * the exporter uses the handle.  If the exporter has given its handle up
	 * before, the fd is imported like others.
	 */
	SHVERBS_EXPORT_MOVE = 1 << 1,
};

/*
 * EXPORT: a handle becomes an object fd, close-on-exec, which owns the object
 * as the handle does and can be passed with SCM_RIGHTS.  With the object id
 * UVERBS_OBJECT_DEVICE and no handle it is the context of this file that becomes
 * one, for ATTACH_CONTEXT.
 *
 * ENOENT: no such handle.  EINVAL: a handle of another object type, or a number
 * that cannot be one; a context with a handle; this file has no context.
 * EPERM: the handle lacks SHVERBS_RIGHT_SHARE, or one of the rights asked for;
 * SHVERBS_EXPORT_REVOCABLE without SHVERBS_RIGHT_REVOKE, or of an object that is
 * shared without it.  EINVAL: a context with flags.  EIO: the object is gone.
 * EOPNOTSUPP: this kind of object cannot be shared on this device.
 */
enum shverbs_attrs_export {
	SHVERBS_ATTR_EXPORT_OBJECT_ID,	/* in, const: enum uverbs_default_objects */
	SHVERBS_ATTR_EXPORT_HANDLE,	/* in, const: the handle; not of a context */
	/*
	 * in, flags, optional: default all that the handle has; an fd without
	 * any right only keeps the object
	 */
	SHVERBS_ATTR_EXPORT_RIGHTS,
	SHVERBS_ATTR_EXPORT_FD,		/* new fd */
	SHVERBS_ATTR_EXPORT_FLAGS,	/* in, flags, optional: enum shverbs_export_flags */
};

/* What an importer must know of an object; zeroes where a kind has no such thing. */
struct shverbs_mr_attrs {
	__aligned_u64 iova;	/* first address, as remote peers write it */
	__aligned_u64 length;	/* in bytes */
	__u32 lkey;
	__u32 rkey;
	__u32 access;		/* enum ib_uverbs_access_flags of the registration */
	__u32 reserved;
};

struct shverbs_cq_attrs {
	__u32 cqe;		/* entries it has room for */
	__u32 reserved;
};

struct shverbs_qp_attrs {
	__u32 qp_num;
	__u32 qp_type;		/* enum ib_uverbs_qp_type */
};

enum shverbs_import_flags {
	/*
	 * It may be revoked; then the default asynchronous event file that the
	 * importing file has at the import gets SHVERBS_EVENT_REVOKED, with the
	 * user handle of the import as its element
	 */
	SHVERBS_IMPORT_REVOCABLE = 1 << 0,
};

/* Asynchronous events beside those of enum ib_uverbs_event_type. */
enum shverbs_event_type {
	SHVERBS_EVENT_REVOKED = SHVERBS_ID_NS,
};

/*
 * IMPORT: an object fd (of EXPORT, or of a name opened) becomes a handle of this
 * file, which owns the object.  The fd may then be closed.
 *
 * EBADF: not an object fd.  EXDEV: the object is of another device.
 * EIO: the object or its device is gone.  EINVAL: this file has no context, or
 * the fd is a context's.  EPERM: IMPORT_MR, _CQ or _QP without SHVERBS_RIGHT_USE.
 */
enum shverbs_attrs_import {
	SHVERBS_ATTR_IMPORT_FD,		 /* in, raw fd */
	SHVERBS_ATTR_IMPORT_USER_HANDLE, /* in, u64, optional: given back in this holder's events */
	SHVERBS_ATTR_IMPORT_HANDLE,	 /* out, u32 */
	SHVERBS_ATTR_IMPORT_OBJECT_ID,	 /* out, u32: enum uverbs_default_objects */
	SHVERBS_ATTR_IMPORT_RIGHTS,	 /* out, u32, optional: enum shverbs_rights */
	SHVERBS_ATTR_IMPORT_MR,		 /* out, struct shverbs_mr_attrs, optional; ENOMSG on other kinds */
	/*
	 * out, optional: the very bytes that the driver answered when the object
	 * was made, for the importer's provider library; cut to the room given
	 */
	SHVERBS_ATTR_IMPORT_DRIVER,
	SHVERBS_ATTR_IMPORT_FLAGS,	 /* out, u32, optional: enum shverbs_import_flags */
	/*
	 * in, raw fd, optional: a completion channel of this file, which gets this
	 * holder's completion events, with its user handle; EINVAL on other kinds
	 * than CQs, EBADF for another fd
	 */
	SHVERBS_ATTR_IMPORT_COMP_CHANNEL,
	SHVERBS_ATTR_IMPORT_CQ,		 /* out, struct shverbs_cq_attrs, optional; ENOMSG on other kinds */
	SHVERBS_ATTR_IMPORT_QP,		 /* out, struct shverbs_qp_attrs, optional; ENOMSG on other kinds */
};

enum shverbs_publish_flags {
	SHVERBS_PUBLISH_STRONG = 1 << 0, /* the name owns the object until it is unlinked */
	SHVERBS_PUBLISH_REVOCABLE = 1 << 1, /* as SHVERBS_EXPORT_REVOCABLE */
};

/*
 * PUBLISH: a handle or an object fd gets a name in a directory of the object
 * file system, which gives object fds to those whom its mode lets open it: read
 * only with SHVERBS_RIGHT_USE, read and write with SHVERBS_RIGHT_MODIFY, too.
 * The name belongs to the caller's file system user and group, and the process
 * umask applies.  It gives no more rights than what it was made from.  A name that
 * is not strong vanishes with the last other owner.  Opening a name for writing
 * only gives EACCES.  As with EXPORT, UVERBS_OBJECT_DEVICE is the context of this
 * file; its owners are the files that are attached to it, object fds and strong
 * names, and not the objects that keep it.
 *
 * EEXIST: the name is taken.  EXDEV: the directory is another device's, or the
 * root of the file system.
 * ENOTDIR, EINVAL: not a directory of the object file system.  EACCES: the
 * directory may not be written.  EPERM: SHVERBS_RIGHT_SHARE is missing, or for
 * SHVERBS_PUBLISH_STRONG CAP_IPC_LOCK, and RLIMIT_MEMLOCK is zero.  ENOMEM: without
 * CAP_IPC_LOCK, a strong name for as many bytes as the object has, at least a page,
 * on top of what the caller's user has locked so, is beyond RLIMIT_MEMLOCK.  ENAMETOOLONG, ENOENT, EINVAL: not
 * a file name.  EINVAL: an fd of SHVERBS_EXPORT_MOVE; both a handle and an fd, or neither, or a mode beyond 0777.
 */
enum shverbs_attrs_publish {
	SHVERBS_ATTR_PUBLISH_OBJECT_ID,	/* in, const; with HANDLE */
	SHVERBS_ATTR_PUBLISH_HANDLE,	/* in, const; or else FD; not of a context */
	SHVERBS_ATTR_PUBLISH_FD,	/* in, raw fd: an object fd */
	SHVERBS_ATTR_PUBLISH_DIR_FD,	/* in, raw fd */
	SHVERBS_ATTR_PUBLISH_NAME,	/* in, the name, without its NUL */
	SHVERBS_ATTR_PUBLISH_MODE,	/* in, const: permission bits */
	SHVERBS_ATTR_PUBLISH_FLAGS,	/* in, flags, optional: enum shverbs_publish_flags */
};

/*
 * RELEASE: gives the handle up.  Unlike the DESTROY methods it never reports
 * what the hardware says: if this was the last owner the object is destroyed, and
 * otherwise nothing happens to it.
 */
enum shverbs_attrs_release {
	SHVERBS_ATTR_RELEASE_OBJECT_ID,	/* in, const */
	SHVERBS_ATTR_RELEASE_HANDLE,	/* in, const */
};

/*
 * ATTACH_CONTEXT: a file that has no context yet gets that of an object fd,
 * instead of one of its own by GET_CONTEXT.  Both then have the same driver's
 * context, with one set of doorbell pages, which mmap() reaches through either;
 * objects that only go together within a context do so now.  Handles are each
 * file's own, as ever, and what a file made goes with it.  The context lasts as
 * long as a file or an object needs it.
 *
 * Attaching is trust: who shares a context can map all that can be mapped of it.
 *
 * EBADF: not an object fd.  EINVAL: not a context's, or this file has a context.
 * EXDEV: a context of another device.  EPERM: SHVERBS_RIGHT_USE is missing.  EIO:
 * the device is gone.
 */
enum shverbs_attrs_attach_context {
	SHVERBS_ATTR_ATTACH_CONTEXT_FD,	/* in, raw fd */
	SHVERBS_ATTR_ATTACH_CONTEXT_NUM_COMP_VECTORS, /* out, u32, optional */
	SHVERBS_ATTR_ATTACH_CONTEXT_RIGHTS, /* out, u32, optional: enum shverbs_rights */
	/* out, optional: what the driver answered to GET_CONTEXT, cut to the room given */
	SHVERBS_ATTR_ATTACH_CONTEXT_DRIVER,
};

/*
 * HOLDERS: how many hold the object of a handle or, with UVERBS_OBJECT_DEVICE and
 * no handle, the context of this file.  Others come and go meanwhile.  That is all
 * that a holder learns of the others: object fds travel, so that no process id
 * would be true for long, and whoever shares an object need not show itself.
 *
 * Errors are those of EXPORT, but no right is needed.
 */
enum shverbs_attrs_holders {
	SHVERBS_ATTR_HOLDERS_OBJECT_ID,	/* in, const */
	SHVERBS_ATTR_HOLDERS_HANDLE,	/* in, const; not of a context */
	SHVERBS_ATTR_HOLDERS_HANDLES,	/* out, u32, optional: handles, or attached files */
	SHVERBS_ATTR_HOLDERS_FDS,	/* out, u32, optional: object fds */
	SHVERBS_ATTR_HOLDERS_NAMES,	/* out, u32, optional: strong names */
	SHVERBS_ATTR_HOLDERS_CHILDREN,	/* out, u32, optional: objects made from it */
	SHVERBS_ATTR_HOLDERS_FLAGS,	/* out, u32, optional: enum shverbs_import_flags */
};

/*
 * REVOKE: destroys the hardware object at once, whoever holds it.  Handles, fds
 * and strong names of it stay until they are given up, but all they are good for
 * is EIO; its names in the file system vanish.  Nobody reaches anything by its
 * keys from here on.  Those who imported it get SHVERBS_EVENT_REVOKED.
 *
 * EPERM: the handle lacks SHVERBS_RIGHT_REVOKE, or the object was not shared as
 * revocable.  EBUSY: others were made from it (an MR on a PD, a QP on a CQ), which
 * are to be revoked or destroyed first, or a call is using it; a QP is in a
 * multicast group.  EIO: it is revoked.  Else as EXPORT, or what the driver says of
 * the destruction; then nothing has changed.
 */
enum shverbs_attrs_revoke {
	SHVERBS_ATTR_REVOKE_OBJECT_ID,	/* in, const */
	SHVERBS_ATTR_REVOKE_HANDLE,	/* in, const */
};

#endif
