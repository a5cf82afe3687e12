// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of objects that rdma_rxe has not: their methods are as if there were
 * none, and so is a method of another kind that cannot do without one of them.
 * Which errno comes first is that of ib_uverbs for each input.
 */
#include "abi.h"

ABI_FIXTURE(objects);

struct method {
	const char *name;
	__u16 object, method;
};

#define METHOD(object, method) { #method, object, method }

static const struct method methods[] = {
	METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC),
	METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG),
	METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE),
	METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY),
	METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ),
};

/* What is in a call that the dispatcher looks at before the method. */
struct input {
	const char *name;
	void (*change)(struct uv_cmd *cmd);
	int want;
};

static void no_attributes(struct uv_cmd *cmd)
{
	cmd->hdr.num_attrs = 0;
}

static void doubled(struct uv_cmd *cmd)
{
	uv_idr(cmd, 0, 1);
}

static void unknown(struct uv_cmd *cmd)
{
	uv_idr(cmd, 200, 1);
}

static void no_handle(struct uv_cmd *cmd)
{
	uv_find(cmd, 0)->data = ABI_NO_HANDLE;
}

static void handle_with_length(struct uv_cmd *cmd)
{
	uv_find(cmd, 0)->len = 8;
}

static void unmapped(struct uv_cmd *cmd)
{
	uv_in(cmd, 1, UV_BAD_PTR, 64);
}

static void other_driver(struct uv_cmd *cmd)
{
	cmd->hdr.driver_id ^= 1;
}

static void reserved(struct uv_cmd *cmd)
{
	cmd->hdr.reserved1 = 1;
}

static const struct input inputs[] = {
	{ "a handle", NULL, -EPROTONOSUPPORT },
	{ "no attributes", no_attributes, -EPROTONOSUPPORT },
	{ "doubled", doubled, -EPROTONOSUPPORT },
	{ "an unknown attribute", unknown, -EPROTONOSUPPORT },
	{ "a handle that there is not", no_handle, -EPROTONOSUPPORT },
	{ "a handle with a length", handle_with_length, -EPROTONOSUPPORT },
	{ "unmapped", unmapped, -EPROTONOSUPPORT },
	{ "another driver", other_driver, -EINVAL },
	{ "reserved bits", reserved, -EPROTONOSUPPORT },
};

TEST_F(objects, methods_of_kinds_that_there_are_not)
{
	const struct input *input;
	struct uv_cmd cmd;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		for (j = 0; j < ARRAY_SIZE(inputs); j++) {
			input = &inputs[j];
			uv_init(&cmd, methods[i].object, methods[i].method);
			uv_idr(&cmd, 0, 1);
			if (input->change)
				input->change(&cmd);
			ABI_EXPECT(input->want, uv_ioctl(self->fd, &cmd),
				   methods[i].name);
		}
	}
	abi_same(_metadata, &self->abi.base, "kinds that there are not");
}

/*
 * The same commands give up PDs, MRs, MWs and AHs: for each, a handle of each
 * other kind, one that there is not, and one that has been given up.
 */
struct kind {
	const char *name;
	__u32 command;
	__u32 handle;
};

static int give_up(int fd, enum uv_form form, __u32 command, __u32 handle)
{
	struct uv_call call = {
		.command = command,
		.req = &handle, .req_len = sizeof(handle),
	};

	return uv_call(fd, form, &call);
}

static int window(int fd, __u32 pd, __u32 *handle)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = pd, .mw_type = 1 };
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_MW,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, UV_WRITE, &call);

	*handle = resp.mw_handle;
	return ret;
}

static void give_up_each(struct __test_metadata *_metadata, int fd,
			 enum uv_form form)
{
	static char page[4096];
	struct kind kinds[] = {
		{ "mr", IB_USER_VERBS_CMD_DEREG_MR, 0 },
		{ "mw", IB_USER_VERBS_CMD_DEALLOC_MW, 0 },
		{ "ah", IB_USER_VERBS_CMD_DESTROY_AH, 0 },
		/* The last, as it is the others' parent. */
		{ "pd", IB_USER_VERBS_CMD_DEALLOC_PD, 0 },
	};
	struct uv_ah ah;
	struct uv_mr mr;
	size_t i, j;
	int want;

	ASSERT_EQ(0, uv_pd_alloc(fd, UV_WRITE, &kinds[3].handle));
	ASSERT_EQ(0, uv_mr_reg(fd, kinds[3].handle, page, sizeof(page), 0,
			       &mr));
	kinds[0].handle = mr.handle;
	ASSERT_EQ(0, window(fd, kinds[3].handle, &kinds[1].handle));
	ASSERT_EQ(0, uv_ah_create(fd, kinds[3].handle, &ah));
	kinds[2].handle = ah.handle;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (j = 0; j < ARRAY_SIZE(kinds); j++) {
			if (i == j)
				continue;
			want = j < i ? -ENOENT : -EINVAL;
			ABI_EXPECT(want, give_up(fd, form, kinds[i].command,
						 kinds[j].handle),
				   kinds[i].name);
		}
		ABI_EXPECT(-ENOENT, give_up(fd, form, kinds[i].command,
					    ABI_NO_HANDLE), kinds[i].name);
		ABI_EXPECT(0, give_up(fd, form, kinds[i].command,
				      kinds[i].handle), kinds[i].name);
		ABI_EXPECT(-ENOENT, give_up(fd, form, kinds[i].command,
					    kinds[i].handle), kinds[i].name);
	}
}

TEST_F(objects, give_up_by_write)
{
	give_up_each(_metadata, self->fd, UV_WRITE);
	abi_same(_metadata, &self->abi.base, "all given up");
}

TEST_F(objects, give_up_by_invoke)
{
	give_up_each(_metadata, self->fd, UV_INVOKE);
	abi_same(_metadata, &self->abi.base, "all given up");
}

TEST_HARNESS_MAIN
