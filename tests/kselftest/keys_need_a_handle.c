// SPDX-License-Identifier: GPL-2.0
/*
 * Gunthorpe 2019: an lkey or rkey is unsafe without a reference on the MR.
 * Keys come with a handle only, work for as long as it is held, and end with
 * the last owner's.
 */
#include "share_rig.h"

RIG_FIXTURE(keys_need_a_handle)

TEST_F(keys_need_a_handle, valid_while_held)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];
	long rkey;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	rkey = peer_tell(b, PEER_RKEY, 0, 0);
	ASSERT_EQ(rkey, peer_tell(a, PEER_RKEY, 0, 0));
	EXPECT_EQ(0, peer_tell(b, PEER_POKE, 0, rkey));
	/* Whoever made it cannot take the keys away from one who holds the MR. */
	EXPECT_EQ(0, peer_tell(a, PEER_DESTROY, PEER_MR, 0));
	EXPECT_EQ(0, peer_tell(b, PEER_POKE, 0, rkey));
	EXPECT_EQ(0, rig_leave(a, WAY_KILL));
	EXPECT_EQ(0, peer_tell(b, PEER_POKE, 0, rkey));
	/* Nor do they outlast the last handle: the PD alone is not enough. */
	EXPECT_EQ(0, peer_tell(b, PEER_RELEASE, PEER_MR, 0));
	EXPECT_TRUE(rig_has(rig, 1, 0));
	EXPECT_EQ(-EACCES, peer_tell(b, PEER_POKE, 0, rkey));
}

TEST_F(keys_need_a_handle, no_import_no_keys)
{
	struct rig *rig = &self->rig;
	struct uv_ctx ctx;
	struct sh_import import;
	struct uv_cmd cmd;
	int mr;

	rig_start(_metadata, rig, 1);
	ASSERT_EQ(0, uv_ctx_open(&ctx));
	mr = peer_export(&rig->peers[0], PEER_MR);
	ASSERT_GE(mr, 0);
	/* The keys without the handle are not to be had ... */
	sh_import_prep(&cmd, mr, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_MR, &import.mr, sizeof(import.mr));
	uv_drop(&cmd, SHVERBS_ATTR_IMPORT_HANDLE);
	EXPECT_EQ(-EINVAL, uv_ioctl(ctx.fd, &cmd));
	EXPECT_EQ(0, import.mr.rkey);
	EXPECT_EQ(0, import.mr.lkey);
	/* ... nor where the handle could not be told. */
	sh_import_prep(&cmd, mr, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_MR, &import.mr, sizeof(import.mr));
	uv_find(&cmd, SHVERBS_ATTR_IMPORT_HANDLE)->data = uv_u64(UV_BAD_PTR);
	EXPECT_EQ(-EFAULT, uv_ioctl(ctx.fd, &cmd));
	close(mr);
	/* No handle of the failed import owns the MR: it goes with its maker. */
	EXPECT_EQ(0, rig_leave(&rig->peers[0], WAY_EXIT));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	uv_ctx_close(&ctx);
}

/* Keys on a PD that is not theirs are worth nothing. */
TEST_F(keys_need_a_handle, keys_are_of_the_pd)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];
	long rkey;

	rig_start(_metadata, rig, 1);
	rkey = peer_tell(a, PEER_RKEY, 0, 0);
	ASSERT_EQ(0, peer_start(b, rig->device));
	ASSERT_EQ(0, peer_tell(b, PEER_OPEN, 0, 0));
	ASSERT_EQ(0, peer_tell(b, PEER_MAKE, 0, 0));
	EXPECT_EQ(-EACCES, peer_tell(b, PEER_POKE, 0, rkey));
	EXPECT_EQ(0, peer_tell(a, PEER_POKE, 0, rkey));
}

TEST_HARNESS_MAIN
