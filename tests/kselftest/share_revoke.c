// SPDX-License-Identifier: GPL-2.0
/* REVOKE: who may, what becomes of what, and that no key reaches anything afterwards. */
#include "abi_event.h"
#include "share_rig.h"

#define REVOCABLE SHVERBS_EXPORT_REVOCABLE

SHARE_FIXTURE(revoke)

TEST_F(revoke, for_everyone)
{
	struct sh *sh = &self->sh;
	int object = sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0,
				  REVOCABLE);
	struct uv_res want = sh->made;
	struct sh_import import;
	__u32 handle;

	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	handle = import.handle;
	EXPECT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	/* The hardware object is gone at once, and the pins with it. */
	want.mr--;
	abi_same(_metadata, &want, "revoked");
	EXPECT_EQ(0, uv_vmpin_kb());
	/* All that is left is EIO ... */
	EXPECT_EQ(-EIO, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	EXPECT_EQ(-EIO, sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0));
	EXPECT_EQ(-EIO, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle, 0));
	EXPECT_EQ(-EIO, sh_import(sh->other, object, &import));
	EXPECT_EQ(-EIO, sh_import_mr(sh->other, object, &import));
	/* ... and giving it up. */
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, sh_release(sh->other, UVERBS_OBJECT_MR, handle));
	close(object);
	/* The PD was never touched, and is free now. */
	EXPECT_EQ(0, uv_pd_destroy(sh->fd, sh->pd));
}

TEST_F(revoke, who_may)
{
	struct sh *sh = &self->sh;
	struct sh_import import, plain;
	int all = SH_ALL | SHVERBS_RIGHT_REVOKE, object;

	/* Not what was never shared. */
	EXPECT_EQ(-EPERM, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	object = sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, SH_ALL,
			      REVOCABLE);
	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(sh->other, object, &plain));
	close(object);
	EXPECT_EQ(-EPERM, sh_revoke(sh->other, UVERBS_OBJECT_MR, plain.handle));
	/* Nor may one without the right share it as revocable. */
	EXPECT_EQ(-EPERM, sh_export_as(sh->other, UVERBS_OBJECT_MR, plain.handle,
				       0, REVOCABLE));
	object = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, all);
	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	close(object);
	EXPECT_EQ(all, import.rights);
	EXPECT_EQ(0, sh_revoke(sh->other, UVERBS_OBJECT_MR, import.handle));
}

/* Who got an object on the word that it stays keeps it. */
TEST_F(revoke, the_first_decides)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { .name = "revocable", .mode = 0600,
				.flags = SHVERBS_PUBLISH_REVOCABLE };
	char path[200];
	int object;

	object = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	ASSERT_GE(object, 0);
	close(object);
	EXPECT_EQ(-EPERM, sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				       0, REVOCABLE));
	EXPECT_EQ(-EPERM, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	name.dir = sh_dir(path, sizeof(path));
	ASSERT_GE(name.dir, 0);
	EXPECT_EQ(-EPERM, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				     &name));
	EXPECT_FALSE(sh_exists(name.dir, name.name));
	close(name.dir);
}

TEST_F(revoke, children_first)
{
	struct sh *sh = &self->sh;
	int pd = sh_export_as(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0, REVOCABLE);
	struct sh_import import;
	struct uv_mr mr;

	ASSERT_GE(pd, 0);
	ASSERT_EQ(0, sh_import(sh->other, pd, &import));
	close(pd);
	EXPECT_EQ(-EBUSY, sh_revoke(sh->fd, UVERBS_OBJECT_PD, sh->pd));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_PD, sh->pd));
	EXPECT_EQ(-EIO, uv_mr_reg(sh->other, import.handle, sh->memory,
				  SH_MR_SIZE, UV_ACCESS_ALL, &mr));
	EXPECT_EQ(0, uv_pd_destroy(sh->other, import.handle));
}

TEST_F(revoke, importers_are_told)
{
	struct sh *sh = &self->sh;
	int object = sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0,
				  REVOCABLE);
	struct ib_uverbs_async_event_desc event;
	__u32 handle = 0, id = 0, flags = 0;
	__u64 user = 0x123456789abcULL;
	struct uv_cmd cmd;

	ASSERT_GE(object, 0);
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_IMPORT);
	uv_fd(&cmd, SHVERBS_ATTR_IMPORT_FD, object);
	uv_in(&cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE, &user, sizeof(user));
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_HANDLE, &handle, sizeof(handle));
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_OBJECT_ID, &id, sizeof(id));
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_FLAGS, &flags, sizeof(flags));
	ASSERT_EQ(0, uv_ioctl(sh->other, &cmd));
	EXPECT_EQ(SHVERBS_IMPORT_REVOCABLE, flags);
	close(object);
	ASSERT_EQ(0, abi_nonblock(sh->other_ctx.async_fd));
	EXPECT_EQ(-EAGAIN, abi_read(sh->other_ctx.async_fd, &event, sizeof(event)));
	EXPECT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	ASSERT_EQ(sizeof(event),
		  abi_read(sh->other_ctx.async_fd, &event, sizeof(event)));
	EXPECT_EQ(user, event.element);
	EXPECT_EQ(SHVERBS_EVENT_REVOKED, event.event_type);
	EXPECT_EQ(-EAGAIN, abi_read(sh->other_ctx.async_fd, &event, sizeof(event)));
}

/* One that has given its handle up is not told. */
TEST_F(revoke, who_left_is_not_told)
{
	struct sh *sh = &self->sh;
	int object = sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0,
				  REVOCABLE);
	struct ib_uverbs_async_event_desc event;
	struct sh_import import;

	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	close(object);
	ASSERT_EQ(0, uv_mr_destroy(sh->other, import.handle));
	EXPECT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	ASSERT_EQ(0, abi_nonblock(sh->other_ctx.async_fd));
	EXPECT_EQ(-EAGAIN, abi_read(sh->other_ctx.async_fd, &event, sizeof(event)));
}

TEST_F(revoke, names_vanish)
{
	struct sh *sh = &self->sh;
	struct sh_name weak = { .name = "rv-weak", .mode = 0600,
				.flags = SHVERBS_PUBLISH_REVOCABLE };
	struct sh_name strong = { .name = "rv-strong", .mode = 0600,
				  .flags = SHVERBS_PUBLISH_STRONG };
	char path[200];

	weak.dir = strong.dir = sh_dir(path, sizeof(path));
	ASSERT_GE(weak.dir, 0);
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &weak));
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				&strong));
	EXPECT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	EXPECT_TRUE(sh_vanishes(weak.dir, weak.name, 2000));
	EXPECT_TRUE(sh_vanishes(weak.dir, strong.name, 2000));
	close(weak.dir);
}

static void fill_revoke(struct sh *sh, struct uv_cmd *cmd)
{
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_REVOKE);
	uv_const(cmd, SHVERBS_ATTR_REVOKE_OBJECT_ID, UVERBS_OBJECT_MR);
	uv_const(cmd, SHVERBS_ATTR_REVOKE_HANDLE, sh->mr.handle);
}

TEST_F(revoke, what_is_not)
{
	struct sh *sh = &self->sh;
	struct uv_cmd cmd;

	EXPECT_EQ(-ENOENT, sh_revoke(sh->fd, UVERBS_OBJECT_MR, ABI_NO_HANDLE));
	EXPECT_EQ(-EINVAL, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->pd));
	EXPECT_EQ(-EINVAL, sh_revoke(sh->fd, UVERBS_OBJECT_MR, 1ULL << 63));
	EXPECT_EQ(-EOPNOTSUPP, sh_revoke(sh->fd, 0x7fff, 0));
	fill_revoke(sh, &cmd);
	uv_drop(&cmd, SHVERBS_ATTR_REVOKE_HANDLE);
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	abi_same(_metadata, &sh->made, "nothing was revoked");
}

RIG_FIXTURE(revoked_keys)

/* What an importer reaches by RDMA, and then no longer, by no handle or number. */
TEST_F(revoked_keys, are_worth_nothing)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];
	int mr;
	long rkey;

	rig_start(_metadata, rig, 2);
	ASSERT_EQ(0, peer_pass(a, b, PEER_PD));
	mr = peer_export_as(a, PEER_MR, REVOCABLE);
	ASSERT_GE(mr, 0);
	ASSERT_EQ(0, peer_import_fd(b, PEER_MR, mr));
	close(mr);
	rkey = peer_tell(b, PEER_RKEY, 0, 0);
	EXPECT_EQ(0, peer_tell(b, PEER_POKE, 0, rkey));
	EXPECT_EQ(0, peer_tell(a, PEER_REVOKE, PEER_MR, 0));
	EXPECT_EQ(-EACCES, peer_tell(b, PEER_POKE, 0, rkey));
	EXPECT_EQ(-EACCES, peer_tell(a, PEER_POKE, 0, rkey));
	EXPECT_EQ(0, peer_tell(b, PEER_RELEASE, PEER_MR, 0));
	EXPECT_EQ(0, peer_tell(a, PEER_DESTROY, PEER_MR, 0));
	EXPECT_TRUE(rig_has(rig, 1, 0));
}

TEST_HARNESS_MAIN
