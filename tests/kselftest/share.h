/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sharing methods spoken by hand, and tables that try every attribute of a
 * method in every wrong way.
 */
#ifndef SHVERBS_TEST_SHARE_H
#define SHVERBS_TEST_SHARE_H

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <rdma/shverbs.h>

#include "abi.h"

#define SH_ALL (SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY | SHVERBS_RIGHT_SHARE)
#define SH_MR_SIZE 65536

/* ---- the methods ---- */

static inline int sh_export_as(int fd, __u32 object, __u64 handle, __u64 rights,
			       __u64 flags)
{
	struct uv_cmd cmd;
	int ret;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_EXPORT);
	uv_const(&cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, object);
	uv_const(&cmd, SHVERBS_ATTR_EXPORT_HANDLE, handle);
	if (rights)
		uv_const(&cmd, SHVERBS_ATTR_EXPORT_RIGHTS, rights);
	if (flags)
		uv_const(&cmd, SHVERBS_ATTR_EXPORT_FLAGS, flags);
	uv_fd(&cmd, SHVERBS_ATTR_EXPORT_FD, 0);
	ret = uv_ioctl(fd, &cmd);
	return ret ? ret : (int)uv_find(&cmd, SHVERBS_ATTR_EXPORT_FD)->data_s64;
}

static inline int sh_export(int fd, __u32 object, __u64 handle, __u64 rights)
{
	return sh_export_as(fd, object, handle, rights, 0);
}

/* The file's own context. */
static inline int sh_export_context(int fd, __u64 rights)
{
	struct uv_cmd cmd;
	int ret;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_EXPORT);
	uv_const(&cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	if (rights)
		uv_const(&cmd, SHVERBS_ATTR_EXPORT_RIGHTS, rights);
	uv_fd(&cmd, SHVERBS_ATTR_EXPORT_FD, 0);
	ret = uv_ioctl(fd, &cmd);
	return ret ? ret : (int)uv_find(&cmd, SHVERBS_ATTR_EXPORT_FD)->data_s64;
}

static inline int sh_attach(int fd, int object_fd)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_ATTACH_CONTEXT);
	uv_fd(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_FD, object_fd);
	return uv_ioctl(fd, &cmd);
}

/* A new file attached to the context of an object fd, or -errno. */
static inline int sh_open_attached(int object_fd)
{
	int fd = uv_open(), ret;

	if (fd < 0)
		return fd;
	ret = sh_attach(fd, object_fd);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

struct sh_import {
	__u32 handle, object_id, rights;
	struct shverbs_mr_attrs mr;
};

static inline void sh_import_prep(struct uv_cmd *cmd, int object_fd,
				  struct sh_import *import)
{
	memset(import, 0, sizeof(*import));
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_IMPORT);
	uv_fd(cmd, SHVERBS_ATTR_IMPORT_FD, object_fd);
	uv_out(cmd, SHVERBS_ATTR_IMPORT_HANDLE, &import->handle,
	       sizeof(import->handle));
	uv_out(cmd, SHVERBS_ATTR_IMPORT_OBJECT_ID, &import->object_id,
	       sizeof(import->object_id));
	uv_out(cmd, SHVERBS_ATTR_IMPORT_RIGHTS, &import->rights,
	       sizeof(import->rights));
}

static inline int sh_import(int fd, int object_fd, struct sh_import *import)
{
	struct uv_cmd cmd;

	sh_import_prep(&cmd, object_fd, import);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_import_mr(int fd, int object_fd, struct sh_import *import)
{
	struct uv_cmd cmd;

	sh_import_prep(&cmd, object_fd, import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_MR, &import->mr, sizeof(import->mr));
	return uv_ioctl(fd, &cmd);
}

/* Where a name goes. */
struct sh_name {
	int dir;
	const char *name;
	__u64 mode;
	__u64 flags;
};

static inline void sh_name_attrs(struct uv_cmd *cmd, const struct sh_name *name)
{
	uv_fd(cmd, SHVERBS_ATTR_PUBLISH_DIR_FD, name->dir);
	uv_in(cmd, SHVERBS_ATTR_PUBLISH_NAME, name->name, strlen(name->name));
	uv_const(cmd, SHVERBS_ATTR_PUBLISH_MODE, name->mode);
	uv_const(cmd, SHVERBS_ATTR_PUBLISH_FLAGS, name->flags);
}

static inline int sh_publish(int fd, __u32 object, __u64 handle,
			     const struct sh_name *name)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_PUBLISH);
	uv_const(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, object);
	uv_const(&cmd, SHVERBS_ATTR_PUBLISH_HANDLE, handle);
	sh_name_attrs(&cmd, name);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_publish_context(int fd, const struct sh_name *name)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_PUBLISH);
	uv_const(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	sh_name_attrs(&cmd, name);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_publish_fd(int fd, int object_fd, const struct sh_name *name)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_PUBLISH);
	uv_fd(&cmd, SHVERBS_ATTR_PUBLISH_FD, object_fd);
	sh_name_attrs(&cmd, name);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_release(int fd, __u32 object, __u64 handle)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_RELEASE);
	uv_const(&cmd, SHVERBS_ATTR_RELEASE_OBJECT_ID, object);
	uv_const(&cmd, SHVERBS_ATTR_RELEASE_HANDLE, handle);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_revoke(int fd, __u32 object, __u64 handle)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_REVOKE);
	uv_const(&cmd, SHVERBS_ATTR_REVOKE_OBJECT_ID, object);
	uv_const(&cmd, SHVERBS_ATTR_REVOKE_HANDLE, handle);
	return uv_ioctl(fd, &cmd);
}

struct sh_holders {
	__u32 handles, fds, names, children, flags;
};

static inline void sh_holders_prep(struct uv_cmd *cmd, __u32 object,
				   struct sh_holders *holders)
{
	memset(holders, 0xff, sizeof(*holders));
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_HOLDERS);
	uv_const(cmd, SHVERBS_ATTR_HOLDERS_OBJECT_ID, object);
	uv_out(cmd, SHVERBS_ATTR_HOLDERS_HANDLES, &holders->handles, 4);
	uv_out(cmd, SHVERBS_ATTR_HOLDERS_FDS, &holders->fds, 4);
	uv_out(cmd, SHVERBS_ATTR_HOLDERS_NAMES, &holders->names, 4);
	uv_out(cmd, SHVERBS_ATTR_HOLDERS_CHILDREN, &holders->children, 4);
	uv_out(cmd, SHVERBS_ATTR_HOLDERS_FLAGS, &holders->flags, 4);
}

static inline int sh_holders(int fd, __u32 object, __u64 handle,
			     struct sh_holders *holders)
{
	struct uv_cmd cmd;

	sh_holders_prep(&cmd, object, holders);
	uv_const(&cmd, SHVERBS_ATTR_HOLDERS_HANDLE, handle);
	return uv_ioctl(fd, &cmd);
}

static inline int sh_holders_context(int fd, struct sh_holders *holders)
{
	struct uv_cmd cmd;

	sh_holders_prep(&cmd, UVERBS_OBJECT_DEVICE, holders);
	return uv_ioctl(fd, &cmd);
}

/* ---- the object file system ---- */

static inline int sh_mount(void)
{
	struct statfs fs;

	if (!statfs(SHVERBS_FS_MOUNT_POINT, &fs) &&
	    fs.f_type == SHVERBS_FS_MAGIC)
		return 0;
	return mount(SHVERBS_FS_TYPE, SHVERBS_FS_MOUNT_POINT, SHVERBS_FS_TYPE, 0,
		     NULL) ? -errno : 0;
}

/* The directory of the first rxe device. */
static inline int sh_dir(char *path, size_t len)
{
	struct uv_dev dev;
	int ret = uv_dev_find(&dev), fd;

	if (!ret)
		ret = sh_mount();
	if (ret)
		return ret;
	snprintf(path, len, "%s/%s", SHVERBS_FS_MOUNT_POINT, dev.ibdev);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static inline bool sh_exists(int dir, const char *name)
{
	return !faccessat(dir, name, F_OK, 0);
}

/* Waits for a weak name to vanish. */
static inline bool sh_vanishes(int dir, const char *name, int ms)
{
	long end = uv_now_ms() + ms;

	while (sh_exists(dir, name)) {
		if (uv_now_ms() > end)
			return false;
		poll(NULL, 0, 5);
	}
	return true;
}

/* Whether an object keeps the context that it was made on is the backend's. */
static inline bool sh_settles_any_ctx(const struct uv_res *want)
{
	struct uv_res res = *want;
	struct uv_res now;

	if (uv_res_get(&now))
		return false;
	res.ctx = now.ctx;
	return uv_res_settles(&res, 2000);
}

/* ---- a PD and an MR on it to share ---- */

struct sh {
	struct abi abi;
	int fd;			/* the file that made them */
	int other;		/* another file of this process, with a context */
	struct uv_ctx other_ctx;
	__u32 pd;
	struct uv_mr mr;
	void *memory;
	struct uv_res made;	/* the counts with all that */
};

static inline void sh_start(struct __test_metadata *_metadata, struct sh *sh)
{
	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	abi_start(_metadata, &sh->abi);
	sh->fd = sh->abi.fd;
	ASSERT_EQ(0, uv_ctx_open(&sh->other_ctx));
	sh->other = sh->other_ctx.fd;
	sh->memory = mmap(NULL, SH_MR_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, sh->memory);
	ASSERT_EQ(0, uv_pd_alloc(sh->fd, UV_WRITE, &sh->pd));
	ASSERT_EQ(0, uv_mr_reg(sh->fd, sh->pd, sh->memory, SH_MR_SIZE,
			       UV_ACCESS_ALL, &sh->mr));
	ASSERT_EQ(0, uv_res_get(&sh->made));
}

/* What the test leaves behind must go with the files. */
static inline void sh_end(struct __test_metadata *_metadata, struct sh *sh)
{
	uv_ctx_close(&sh->other_ctx);
	abi_end(_metadata, &sh->abi);
	munmap(sh->memory, SH_MR_SIZE);
}

#define SHARE_FIXTURE(name)                                                \
	FIXTURE(name)                                                      \
	{                                                                  \
		struct sh sh;                                              \
	};                                                                 \
	FIXTURE_SETUP(name)                                                \
	{                                                                  \
		sh_start(_metadata, &self->sh);                            \
	}                                                                  \
	FIXTURE_TEARDOWN(name)                                             \
	{                                                                  \
		sh_end(_metadata, &self->sh);                              \
	}

/* ---- every attribute in every wrong way ---- */

enum sh_kind { SH_CONST, SH_FLAGS, SH_IN, SH_OUT, SH_RAW_FD, SH_NEW_FD };

struct sh_attr {
	const char *name;
	__u16 id;
	enum sh_kind kind;
	bool optional;
};

#define SH_ATTR(id, kind) { #id, id, kind, false }
#define SH_OPTIONAL(id, kind) { #id, id, kind, true }

/*
 * A method with a call that is right: fill() makes it, on a file of self; undo()
 * takes back what it did when it succeeded.
 */
struct sh_method {
	const struct sh_attr *attrs;
	int num_attrs;
	void (*fill)(struct sh *sh, struct uv_cmd *cmd);
	void (*undo)(struct __test_metadata *_metadata, struct sh *sh,
		     struct uv_cmd *cmd);
};

static inline void sh_try(struct __test_metadata *_metadata, struct sh *sh,
			  const struct sh_method *method, struct uv_cmd *cmd,
			  int want, const char *name)
{
	int ret = uv_ioctl(sh->fd, cmd);

	ABI_EXPECT(want, ret, name);
	if (!ret)
		method->undo(_metadata, sh, cmd);
	abi_same(_metadata, &sh->made, name);
}

/* The call that is right, with one attribute at hand to spoil. */
#define SH_SPOIL(want, how, change)                                        \
	do {                                                               \
		struct uv_cmd cmd;                                         \
		struct ib_uverbs_attr *attr;                               \
		char what[100];                                            \
		method->fill(sh, &cmd);                                    \
		attr = uv_find(&cmd, a->id);                               \
		snprintf(what, sizeof(what), "%s %s", a->name, how);       \
		change;                                                    \
		(void)attr;                                                \
		sh_try(_metadata, sh, method, &cmd, want, what);           \
	} while (0)

static inline void sh_spoil_length(struct __test_metadata *_metadata,
				   struct sh *sh, const struct sh_method *method,
				   const struct sh_attr *a)
{
	switch (a->kind) {
	case SH_RAW_FD:
	case SH_NEW_FD:
		SH_SPOIL(-EINVAL, "with a length", attr->len = 4);
		break;
	case SH_CONST:
		SH_SPOIL(-EINVAL, "of 4 bytes", attr->len = 4);
		SH_SPOIL(-EINVAL, "of 9 bytes", attr->len = 9);
		break;
	case SH_FLAGS:
		SH_SPOIL(-EINVAL, "of 3 bytes", attr->len = 3);
		SH_SPOIL(-EINVAL, "of 9 bytes", attr->len = 9);
		SH_SPOIL(-EINVAL, "with a bit nobody knows", attr->data = 1 << 20);
		SH_SPOIL(-EINVAL, "with a high bit", attr->data = 1ULL << 40);
		break;
	case SH_OUT:
		SH_SPOIL(-EINVAL, "one byte short", attr->len--);
		SH_SPOIL(-EINVAL, "empty", attr->len = 0);
		SH_SPOIL(-EFAULT, "unmapped", attr->data = uv_u64(UV_BAD_PTR));
		SH_SPOIL(-EFAULT, "of the kernel", attr->data = 1ULL << 63);
		break;
	case SH_IN:
		SH_SPOIL(-EINVAL, "empty", attr->len = 0);
		SH_SPOIL(-EFAULT, "unmapped", (attr->len = 9,
			 attr->data = uv_u64(UV_BAD_PTR)));
		break;
	}
}

static inline void sh_spoil_attr(struct __test_metadata *_metadata,
				 struct sh *sh, const struct sh_method *method,
				 const struct sh_attr *a)
{
	SH_SPOIL(a->optional ? 0 : -EINVAL, "missing", uv_drop(&cmd, a->id));
	SH_SPOIL(-EINVAL, "twice", cmd.hdr.attrs[cmd.hdr.num_attrs++] = *attr);
	SH_SPOIL(-EINVAL, "with reserved bits", attr->attr_data.reserved = 1);
	sh_spoil_length(_metadata, sh, method, a);
}

static inline void sh_spoil_method(struct __test_metadata *_metadata,
				   struct sh *sh, const struct sh_method *method)
{
	struct uv_cmd cmd;
	int i;

	method->fill(sh, &cmd);
	sh_try(_metadata, sh, method, &cmd, 0, "as it should be");
	for (i = 0; i < method->num_attrs; i++)
		sh_spoil_attr(_metadata, sh, method, &method->attrs[i]);

	method->fill(sh, &cmd);
	uv_const(&cmd, 40, 0);
	sh_try(_metadata, sh, method, &cmd, -EPROTONOSUPPORT, "unknown, mandatory");
	method->fill(sh, &cmd);
	uv_const(&cmd, 40, 0)->flags = 0;
	sh_try(_metadata, sh, method, &cmd, 0, "unknown, optional");
	method->fill(sh, &cmd);
	cmd.hdr.driver_id++;
	sh_try(_metadata, sh, method, &cmd, -EINVAL, "another driver's id");
}

#endif
