// SPDX-License-Identifier: GPL-2.0
/* INFO, and what a program sees of a kernel without sharing. */
#include "share.h"

SHARE_FIXTURE(info)

static __u32 version, backend;
static __u64 shareable;

static void fill_info(struct sh *sh, struct uv_cmd *cmd)
{
	(void)sh;
	version = backend = 0xdead;
	shareable = 0;
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_INFO);
	uv_out(cmd, SHVERBS_ATTR_INFO_VERSION, &version, sizeof(version));
	uv_out(cmd, SHVERBS_ATTR_INFO_BACKEND, &backend, sizeof(backend));
	uv_out(cmd, SHVERBS_ATTR_INFO_SHAREABLE, &shareable, sizeof(shareable));
}

static void undo_info(struct __test_metadata *_metadata, struct sh *sh,
		      struct uv_cmd *cmd)
{
	(void)_metadata;
	(void)sh;
	(void)cmd;
}

TEST_F(info, tells)
{
	struct uv_cmd cmd;

	fill_info(&self->sh, &cmd);
	ASSERT_EQ(0, uv_ioctl(self->sh.fd, &cmd));
	EXPECT_EQ(SHVERBS_ABI_VERSION, version);
	EXPECT_EQ(SHVERBS_BACKEND_RXE, backend);
	EXPECT_TRUE(shareable & (1ULL << UVERBS_OBJECT_DEVICE));
	EXPECT_TRUE(shareable & (1ULL << UVERBS_OBJECT_PD));
	EXPECT_TRUE(shareable & (1ULL << UVERBS_OBJECT_MR));
	EXPECT_FALSE(shareable & (1ULL << UVERBS_OBJECT_ASYNC_EVENT));
}

TEST_F(info, marks_its_output)
{
	struct uv_cmd cmd;
	int i;

	fill_info(&self->sh, &cmd);
	ASSERT_EQ(0, uv_ioctl(self->sh.fd, &cmd));
	for (i = 0; i < cmd.hdr.num_attrs; i++) {
		EXPECT_TRUE(cmd.hdr.attrs[i].flags & UVERBS_ATTR_F_VALID_OUTPUT);
	}
}

TEST_F(info, attributes)
{
	static const struct sh_attr attrs[] = {
		SH_OPTIONAL(SHVERBS_ATTR_INFO_VERSION, SH_OUT),
		SH_OPTIONAL(SHVERBS_ATTR_INFO_BACKEND, SH_OUT),
		SH_OPTIONAL(SHVERBS_ATTR_INFO_SHAREABLE, SH_OUT),
	};
	const struct sh_method method = { attrs, 3, fill_info, undo_info };

	sh_spoil_method(_metadata, &self->sh, &method);
}

TEST_F(info, asks_for_nothing)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_INFO);
	EXPECT_EQ(0, uv_ioctl(self->sh.fd, &cmd));
}

TEST_F(info, ids_nobody_has)
{
	struct uv_cmd cmd;

	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_ID_NS + 50);
	EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl(self->sh.fd, &cmd));
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, 0);
	EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl(self->sh.fd, &cmd));
	uv_init(&cmd, SHVERBS_ID_NS + 50, SHVERBS_METHOD_INFO);
	EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl(self->sh.fd, &cmd));
}

/* How a program learns where it is. */
TEST(stock_ib_uverbs_says_eprotonosupport)
{
	struct uv_ctx ctx;
	struct uv_cmd cmd;

	if (is_shverbs())
		SKIP(return, "needs ib_uverbs");
	ASSERT_EQ(0, uv_ctx_open(&ctx));
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_INFO);
	EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl(ctx.fd, &cmd));
	uv_ctx_close(&ctx);
}

TEST_HARNESS_MAIN
