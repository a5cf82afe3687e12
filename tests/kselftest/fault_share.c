// SPDX-License-Identifier: GPL-2.0
/* Sharing whose allocations and user copies fail, each in its turn. */
#include "fault.h"

struct rig {
	struct sh sh;
	struct sh_import import;
	char path[200];
	int fault;
	int dir;		/* of the object file system */
	int object;		/* an object fd of the MR */
	int context;		/* an object fd of the context */
	int made;
	struct uv_dev dev;
	__u32 pd;
};

FIXTURE(fault_share)
{
	struct rig rig;
};

FIXTURE_SETUP(fault_share)
{
	struct rig *rig = &self->rig;

	rig->fault = fault_open();
	if (rig->fault == -ENOENT)
		SKIP(return, "the kernel has no fault injection");
	ASSERT_GE(rig->fault, 0);
	sh_start(_metadata, &rig->sh);
	ASSERT_EQ(0, uv_dev_find(&rig->dev));
	rig->dir = sh_dir(rig->path, sizeof(rig->path));
	ASSERT_GE(rig->dir, 0);
	rig->object = sh_export(rig->sh.fd, UVERBS_OBJECT_MR,
				rig->sh.mr.handle, 0);
	ASSERT_GE(rig->object, 0);
	rig->context = sh_export_context(rig->sh.fd, 0);
	ASSERT_GE(rig->context, 0);
}

FIXTURE_TEARDOWN(fault_share)
{
	if (self->rig.fault < 0)
		return;
	close(self->rig.object);
	close(self->rig.context);
	close(self->rig.dir);
	sh_end(_metadata, &self->rig.sh);
	close(self->rig.fault);
}

#define SWEEP(ops)                                                         \
	for (size_t i = 0; i < sizeof(ops) / sizeof(*(ops)); i++)          \
		fault_sweep(_metadata, self->rig.fault, &(ops)[i], &self->rig)

static int made(struct rig *rig, int fd)
{
	rig->made = fd;
	return fd < 0 ? fd : 0;
}

static int close_made(void *data)
{
	struct rig *rig = data;

	return close(rig->made);
}

/* ---- handles and object fds ---- */

static int export_mr(void *data)
{
	struct rig *rig = data;

	return made(rig, sh_export(rig->sh.fd, UVERBS_OBJECT_MR,
				   rig->sh.mr.handle, 0));
}

static int import_mr(void *data)
{
	struct rig *rig = data;

	return sh_import_mr(rig->sh.other, rig->object, &rig->import);
}

static int release_import(void *data)
{
	struct rig *rig = data;

	return sh_release(rig->sh.other, UVERBS_OBJECT_MR, rig->import.handle);
}

static int holders(void *data)
{
	struct rig *rig = data;
	struct sh_holders now;

	return sh_holders(rig->sh.fd, UVERBS_OBJECT_MR, rig->sh.mr.handle, &now);
}

static int export_move(void *data)
{
	struct rig *rig = data;
	int ret = uv_pd_alloc(rig->sh.fd, UV_WRITE, &rig->pd);

	if (ret)
		return ret;
	ret = made(rig, sh_export_as(rig->sh.fd, UVERBS_OBJECT_PD, rig->pd, 0,
				     SHVERBS_EXPORT_MOVE));
	if (ret)
		uv_pd_destroy(rig->sh.fd, rig->pd);
	return ret;
}

static int import_moved(void *data)
{
	struct rig *rig = data;

	return sh_import(rig->sh.other, rig->made, &rig->import);
}

/* The exporter's handle is gone and the importer's is there. */
static int moved(void *data)
{
	struct rig *rig = data;
	int ret = uv_pd_destroy(rig->sh.fd, rig->pd);

	close(rig->made);
	if (ret != -ENOENT)
		return -EEXIST;
	return sh_release(rig->sh.other, UVERBS_OBJECT_PD, rig->import.handle);
}

static int not_moved(void *data)
{
	struct rig *rig = data;

	close(rig->made);
	return uv_pd_destroy(rig->sh.fd, rig->pd);
}

static int revocable(void *data)
{
	struct rig *rig = data;
	int ret = uv_pd_alloc(rig->sh.fd, UV_WRITE, &rig->pd);

	if (ret)
		return ret;
	ret = made(rig, sh_export_as(rig->sh.fd, UVERBS_OBJECT_PD, rig->pd, 0,
				     SHVERBS_EXPORT_REVOCABLE));
	if (ret)
		uv_pd_destroy(rig->sh.fd, rig->pd);
	return ret;
}

static int revoke_pd(void *data)
{
	struct rig *rig = data;

	return sh_revoke(rig->sh.fd, UVERBS_OBJECT_PD, rig->pd);
}

static int release_pd(void *data)
{
	struct rig *rig = data;

	close(rig->made);
	return sh_release(rig->sh.fd, UVERBS_OBJECT_PD, rig->pd);
}

TEST_F(fault_share, handles)
{
	const struct fault_op ops[] = {
		{ .name = "EXPORT", .call = export_mr, .settle = close_made },
		{ .name = "IMPORT", .call = import_mr,
		  .settle = release_import },
		{ .name = "RELEASE", .prepare = import_mr,
		  .call = release_import, .take_back = release_import },
		{ .name = "HOLDERS", .call = holders },
		{ .name = "IMPORT that moves", .prepare = export_move,
		  .call = import_moved, .settle = moved,
		  .take_back = not_moved },
		{ .name = "REVOKE", .prepare = revocable, .call = revoke_pd,
		  .settle = release_pd, .take_back = release_pd },
	};

	SWEEP(ops);
}

/* ---- contexts ---- */

static int export_context(void *data)
{
	struct rig *rig = data;

	return made(rig, sh_export_context(rig->sh.fd, 0));
}

static int open_node(void *data)
{
	struct rig *rig = data;
	int fd = open(rig->dev.node, O_RDWR | O_CLOEXEC);

	return made(rig, fd < 0 ? -errno : fd);
}

static int attach(void *data)
{
	struct rig *rig = data;

	return sh_attach(rig->made, rig->context);
}

static int attach_again(void *data)
{
	int ret = attach(data);

	return ret ? ret : close_made(data);
}

TEST_F(fault_share, contexts)
{
	const struct fault_op ops[] = {
		{ .name = "EXPORT of a context", .call = export_context,
		  .settle = close_made },
		{ .name = "ATTACH_CONTEXT", .prepare = open_node,
		  .call = attach, .settle = close_made,
		  .take_back = attach_again },
	};

	SWEEP(ops);
}

/* ---- names ---- */

static int publish_as(struct rig *rig, __u64 flags)
{
	struct sh_name name = { .dir = rig->dir, .name = "name", .mode = 0600,
				.flags = flags };

	return sh_publish(rig->sh.fd, UVERBS_OBJECT_MR, rig->sh.mr.handle, &name);
}

static int publish(void *data)
{
	return publish_as(data, 0);
}

static int publish_strong(void *data)
{
	return publish_as(data, SHVERBS_PUBLISH_STRONG);
}

static int publish_fd(void *data)
{
	struct rig *rig = data;
	struct sh_name name = { .dir = rig->dir, .name = "name", .mode = 0600 };

	return sh_publish_fd(rig->sh.fd, rig->object, &name);
}

static int unlink_name(void *data)
{
	struct rig *rig = data;

	return unlinkat(rig->dir, "name", 0) ? -errno : 0;
}

static int open_name(void *data)
{
	struct rig *rig = data;
	int fd = openat(rig->dir, "name", O_RDWR | O_CLOEXEC);

	return made(rig, fd < 0 ? -errno : fd);
}

static int close_and_unlink(void *data)
{
	close_made(data);
	return unlink_name(data);
}

static int read_name(void *data)
{
	struct rig *rig = data;
	char text[400];
	int fd = openat(rig->dir, "name", O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int rename_name(void *data)
{
	struct rig *rig = data;

	return renameat(rig->dir, "name", rig->dir, "other") ? -errno : 0;
}

static int unlink_other(void *data)
{
	struct rig *rig = data;

	return unlinkat(rig->dir, "other", 0) ? -errno : 0;
}

static int make_dir(void *data)
{
	struct rig *rig = data;

	return mkdirat(rig->dir, "directory", 0700) ? -errno : 0;
}

static int remove_dir(void *data)
{
	struct rig *rig = data;

	return unlinkat(rig->dir, "directory", AT_REMOVEDIR) ? -errno : 0;
}

TEST_F(fault_share, names)
{
	const struct fault_op ops[] = {
		{ .name = "PUBLISH", .call = publish, .settle = unlink_name },
		{ .name = "PUBLISH of an fd", .call = publish_fd,
		  .settle = unlink_name },
		{ .name = "PUBLISH, strong", .call = publish_strong,
		  .settle = unlink_name },
		{ .name = "open", .prepare = publish, .call = open_name,
		  .settle = close_and_unlink, .take_back = unlink_name },
		{ .name = "read", .prepare = publish, .call = read_name,
		  .settle = unlink_name, .take_back = unlink_name },
		{ .name = "rename", .prepare = publish, .call = rename_name,
		  .settle = unlink_other, .take_back = unlink_name },
		{ .name = "unlink", .prepare = publish, .call = unlink_name,
		  .take_back = unlink_name },
		{ .name = "mkdir", .call = make_dir, .settle = remove_dir },
		{ .name = "rmdir", .prepare = make_dir, .call = remove_dir,
		  .take_back = remove_dir },
	};

	SWEEP(ops);
}

TEST_HARNESS_MAIN
