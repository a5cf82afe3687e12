// SPDX-License-Identifier: GPL-2.0
/* Modifying and querying queue pairs. */
#include "abi.h"

enum { MOD_WRITE, MOD_INVOKE, MOD_EX, MOD_EX_INVOKE };

FIXTURE(modify)
{
	struct abi abi;
	struct uv_cq cq;
	struct uv_qp qp;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(modify)
{
	int how;
};

FIXTURE_VARIANT_ADD(modify, write)
{
	.how = MOD_WRITE,
};

FIXTURE_VARIANT_ADD(modify, invoke)
{
	.how = MOD_INVOKE,
};

FIXTURE_VARIANT_ADD(modify, ex)
{
	.how = MOD_EX,
};

FIXTURE_VARIANT_ADD(modify, ex_invoke)
{
	.how = MOD_EX_INVOKE,
};

FIXTURE_SETUP(modify)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 1, &self->cq));
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_RC, &self->qp));
}

FIXTURE_TEARDOWN(modify)
{
	abi_end(_metadata, &self->abi);
}

static int modify_ex(int fd, enum uv_form form,
		     const struct ib_uverbs_modify_qp *base)
{
	struct ib_uverbs_ex_modify_qp req = {};
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct uv_call call = {
		.command = UV_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP),
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret;

	memcpy(&req, base, sizeof(*base));
	ret = uv_call(fd, form, &call);
	if (!ret && resp.response_length != sizeof(resp))
		return -EPROTO;
	return ret;
}

static int modify(int fd, int how, const struct ib_uverbs_modify_qp *req)
{
	enum uv_form form = how == MOD_WRITE || how == MOD_EX ? UV_WRITE :
								UV_INVOKE;

	if (how == MOD_EX || how == MOD_EX_INVOKE)
		return modify_ex(fd, form, req);
	return uv_qp_modify(fd, form, req);
}

static int state(int fd, __u32 qp)
{
	struct ib_uverbs_query_qp_resp resp = {};
	int ret = uv_qp_query(fd, UV_INVOKE, qp, &resp);

	return ret ? ret : resp.qp_state;
}

/* The request for each step of a QP's life, connected to itself. */
static void to_init(const struct _test_data_modify *self,
		    struct ib_uverbs_modify_qp *req)
{
	*req = (struct ib_uverbs_modify_qp){
		.qp_handle = self->qp.handle,
		.qp_state = UV_INIT,
		.port_num = 1,
		.qp_access_flags = UV_ACCESS_ALL,
		.attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT |
			     UV_QP_ACCESS_FLAGS,
	};
}

static int to_rtr(const struct _test_data_modify *self,
		  struct ib_uverbs_modify_qp *req)
{
	*req = (struct ib_uverbs_modify_qp){
		.qp_handle = self->qp.handle,
		.qp_state = UV_RTR,
		.path_mtu = 3,
		.dest_qp_num = self->qp.qpn,
		.rq_psn = 0x123456,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.attr_mask = UV_QP_STATE | UV_QP_AV | UV_QP_PATH_MTU |
			     UV_QP_DEST_QPN | UV_QP_RQ_PSN |
			     UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER,
	};
	return uv_dest(self->fd, &req->dest);
}

static void to_rts(const struct _test_data_modify *self,
		   struct ib_uverbs_modify_qp *req)
{
	*req = (struct ib_uverbs_modify_qp){
		.qp_handle = self->qp.handle,
		.qp_state = UV_RTS,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
		.sq_psn = 0x654321,
		.max_rd_atomic = 3,
		.attr_mask = UV_QP_STATE | UV_QP_TIMEOUT | UV_QP_RETRY_CNT |
			     UV_QP_RNR_RETRY | UV_QP_SQ_PSN |
			     UV_QP_MAX_QP_RD_ATOMIC,
	};
}

static int to_state(const struct _test_data_modify *self, int how, __u8 next)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = self->qp.handle,
		.qp_state = next,
		.attr_mask = UV_QP_STATE,
	};

	return modify(self->fd, how, &req);
}

TEST_F(modify, all_states)
{
	struct ib_uverbs_modify_qp req;
	const int how = variant->how;

	EXPECT_EQ(UV_RESET, state(self->fd, self->qp.handle));
	to_init(self, &req);
	ASSERT_EQ(0, modify(self->fd, how, &req));
	EXPECT_EQ(UV_INIT, state(self->fd, self->qp.handle));
	ASSERT_EQ(0, to_rtr(self, &req));
	ASSERT_EQ(0, modify(self->fd, how, &req));
	EXPECT_EQ(UV_RTR, state(self->fd, self->qp.handle));
	to_rts(self, &req);
	ASSERT_EQ(0, modify(self->fd, how, &req));
	EXPECT_EQ(UV_RTS, state(self->fd, self->qp.handle));
	ASSERT_EQ(0, to_state(self, how, UV_SQD));
	EXPECT_EQ(UV_SQD, state(self->fd, self->qp.handle));
	ASSERT_EQ(0, to_state(self, how, UV_ERR));
	EXPECT_EQ(UV_ERR, state(self->fd, self->qp.handle));
	ASSERT_EQ(0, to_state(self, how, UV_RESET));
	EXPECT_EQ(UV_RESET, state(self->fd, self->qp.handle));
}

/* What was set is what a query tells, address and all. */
TEST_F(modify, query_tells_what_was_set)
{
	struct ib_uverbs_query_qp_resp resp = {};
	struct ib_uverbs_modify_qp req, rtr;
	enum uv_form form = variant->how == MOD_INVOKE ? UV_INVOKE : UV_WRITE;

	to_init(self, &req);
	ASSERT_EQ(0, modify(self->fd, variant->how, &req));
	ASSERT_EQ(0, to_rtr(self, &rtr));
	ASSERT_EQ(0, modify(self->fd, variant->how, &rtr));
	to_rts(self, &req);
	ASSERT_EQ(0, modify(self->fd, variant->how, &req));
	ASSERT_EQ(0, uv_qp_query(self->fd, form, self->qp.handle, &resp));
	EXPECT_EQ(UV_RTS, resp.qp_state);
	EXPECT_EQ(3, resp.path_mtu);
	EXPECT_EQ(self->qp.qpn, resp.dest_qp_num);
	EXPECT_EQ(0x123456, resp.rq_psn);
	EXPECT_EQ(UV_ACCESS_ALL, resp.qp_access_flags);
	EXPECT_EQ(4, resp.max_dest_rd_atomic);
	EXPECT_EQ(12, resp.min_rnr_timer);
	EXPECT_EQ(14, resp.timeout);
	EXPECT_EQ(6, resp.retry_cnt);
	EXPECT_EQ(5, resp.rnr_retry);
	EXPECT_EQ(1, resp.port_num);
	EXPECT_EQ(1, resp.dest.is_global);
	EXPECT_EQ(0, memcmp(resp.dest.dgid, rtr.dest.dgid, 16));
	EXPECT_EQ(1, resp.dest.port_num);
	EXPECT_LE(8, resp.max_send_wr);
	EXPECT_LE(8, resp.max_recv_wr);
	EXPECT_EQ(1, resp.sq_sig_all);
	EXPECT_EQ(0, resp.reserved[0]);
}

TEST_F(modify, bad_handles)
{
	const __u32 other[] = { self->pd, self->cq.handle };
	struct ib_uverbs_modify_qp req;
	struct ib_uverbs_query_qp_resp resp;
	size_t i;

	to_init(self, &req);
	req.qp_handle = ABI_NO_HANDLE;
	EXPECT_EQ(-ENOENT, modify(self->fd, variant->how, &req));
	EXPECT_EQ(-ENOENT, uv_qp_query(self->fd, UV_WRITE, ABI_NO_HANDLE,
				       &resp));
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		req.qp_handle = other[i];
		EXPECT_EQ(-EINVAL, modify(self->fd, variant->how, &req));
		EXPECT_EQ(-EINVAL, uv_qp_query(self->fd, UV_INVOKE, other[i],
					       &resp));
	}
	EXPECT_EQ(UV_RESET, state(self->fd, self->qp.handle));
}

/* Bits that the command has no room for, or rxe has not. */
TEST_F(modify, unknown_bits_of_the_mask)
{
	const __u32 bits[] = { 1 << 21, 1 << 24, UV_QP_RATE_LIMIT, 1U << 31 };
	struct ib_uverbs_modify_qp req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		to_init(self, &req);
		req.attr_mask |= bits[i];
		EXPECT_EQ(-EOPNOTSUPP, modify(self->fd, variant->how, &req))
		{
			TH_LOG("mask %x", bits[i]);
		}
	}
	EXPECT_EQ(UV_RESET, state(self->fd, self->qp.handle));
}

struct mod_case {
	const char *name;
	void (*change)(struct ib_uverbs_modify_qp *req);
	int want;
};

static void port_0(struct ib_uverbs_modify_qp *req)
{
	req->port_num = 0;
}

static void port_2(struct ib_uverbs_modify_qp *req)
{
	req->port_num = 2;
}

static void no_pkey(struct ib_uverbs_modify_qp *req)
{
	req->attr_mask &= ~UV_QP_PKEY_INDEX;
}

static void a_qkey(struct ib_uverbs_modify_qp *req)
{
	req->attr_mask |= UV_QP_QKEY;
}

static void state_7(struct ib_uverbs_modify_qp *req)
{
	req->qp_state = 7;
}

static void state_255(struct ib_uverbs_modify_qp *req)
{
	req->qp_state = 255;
}

static void cur_state_7(struct ib_uverbs_modify_qp *req)
{
	req->cur_qp_state = 7;
	req->attr_mask |= UV_QP_CUR_STATE;
}

static void too_early(struct ib_uverbs_modify_qp *req)
{
	req->qp_state = UV_RTR;
}

static void sqd_too_early(struct ib_uverbs_modify_qp *req)
{
	req->qp_state = UV_SQD;
	req->attr_mask = UV_QP_STATE;
}

static void bad_access(struct ib_uverbs_modify_qp *req)
{
	req->qp_access_flags = 1 << 12;
}

static void alt_path_bad_port(struct ib_uverbs_modify_qp *req)
{
	req->attr_mask |= UV_QP_ALT_PATH;
	req->alt_port_num = 1;
	req->alt_dest.port_num = 3;
}

static const struct mod_case init_cases[] = {
	{ "port 0", port_0, -EINVAL },
	{ "port 2", port_2, -EINVAL },
	{ "no pkey", no_pkey, -EINVAL },
	{ "a qkey of an RC QP", a_qkey, -EINVAL },
	{ "state 7", state_7, -EINVAL },
	{ "state 255", state_255, -EINVAL },
	{ "current state 7", cur_state_7, -EINVAL },
	{ "RESET to RTR", too_early, -EINVAL },
	{ "RESET to SQD", sqd_too_early, -EINVAL },
	{ "unknown access", bad_access, -EINVAL },
	{ "alternate path's port", alt_path_bad_port, -EINVAL },
};

TEST_F(modify, to_init_bad_input)
{
	struct ib_uverbs_modify_qp req;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(init_cases); i++) {
		to_init(self, &req);
		init_cases[i].change(&req);
		ret = modify(self->fd, variant->how, &req);
		ABI_EXPECT(init_cases[i].want, ret, init_cases[i].name);
		EXPECT_EQ(UV_RESET, state(self->fd, self->qp.handle));
	}
	to_init(self, &req);
	EXPECT_EQ(0, modify(self->fd, variant->how, &req));
}

static void av_port_0(struct ib_uverbs_modify_qp *req)
{
	req->dest.port_num = 0;
}

static void av_port_2(struct ib_uverbs_modify_qp *req)
{
	req->dest.port_num = 2;
}

static void av_local(struct ib_uverbs_modify_qp *req)
{
	req->dest.is_global = 0;
}

static void av_empty_gid(struct ib_uverbs_modify_qp *req)
{
	req->dest.sgid_index = 255;
}

static void mtu_6(struct ib_uverbs_modify_qp *req)
{
	req->path_mtu = 6;
}

static void no_av(struct ib_uverbs_modify_qp *req)
{
	req->attr_mask &= ~UV_QP_AV;
}

static void with_port(struct ib_uverbs_modify_qp *req)
{
	req->attr_mask |= UV_QP_PORT;
	req->port_num = 1;
}

static const struct mod_case rtr_cases[] = {
	{ "address: port 0", av_port_0, -EINVAL },
	{ "address: port 2", av_port_2, -EINVAL },
	{ "address without a GID", av_local, -EINVAL },
	{ "address: no such GID of ours", av_empty_gid, -ENODATA },
	{ "MTU 6", mtu_6, -EINVAL },
	{ "no address", no_av, -EINVAL },
	{ "a port as well", with_port, -EINVAL },
};

TEST_F(modify, to_rtr_bad_input)
{
	struct ib_uverbs_modify_qp req;
	size_t i;
	int ret;

	to_init(self, &req);
	ASSERT_EQ(0, modify(self->fd, variant->how, &req));
	for (i = 0; i < ARRAY_SIZE(rtr_cases); i++) {
		ASSERT_EQ(0, to_rtr(self, &req));
		rtr_cases[i].change(&req);
		ret = modify(self->fd, variant->how, &req);
		ABI_EXPECT(rtr_cases[i].want, ret, rtr_cases[i].name);
		EXPECT_EQ(UV_INIT, state(self->fd, self->qp.handle));
	}
	ASSERT_EQ(0, to_rtr(self, &req));
	EXPECT_EQ(0, modify(self->fd, variant->how, &req));
}

/* The high bit of a qkey is for those who may send raw packets. */
TEST_F(modify, privileged_qkey)
{
	struct ib_uverbs_modify_qp req;
	struct uv_qp ud;
	int ret;

	if (geteuid())
		SKIP(return, "needs root");
	if (variant->how == MOD_WRITE || variant->how == MOD_EX)
		SKIP(return, "write() refuses other credentials");
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_UD, &ud));
	to_init(self, &req);
	req.qp_handle = ud.handle;
	req.attr_mask ^= UV_QP_ACCESS_FLAGS | UV_QP_QKEY;
	req.qkey = 0x80010000;
	ASSERT_EQ(0, seteuid(65534));
	ret = modify(self->fd, variant->how, &req);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-EPERM, ret);
	EXPECT_EQ(UV_RESET, state(self->fd, ud.handle));
	EXPECT_EQ(0, modify(self->fd, variant->how, &req));
	EXPECT_EQ(UV_INIT, state(self->fd, ud.handle));
}

TEST_F(modify, query_bad_input)
{
	struct ib_uverbs_query_qp req = { .qp_handle = self->qp.handle };
	struct ib_uverbs_query_qp_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_QP,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp) - 4,
	};
	struct uv_write w;

	EXPECT_EQ(-ENOSPC, uv_call(self->fd, UV_WRITE, &call));
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, UV_INVOKE, &call));
	call.resp_len = sizeof(resp);
	call.resp = UV_BAD_PTR;
	EXPECT_EQ(-EFAULT, uv_call(self->fd, UV_INVOKE, &call));
	uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR,
		 sizeof(resp));
	EXPECT_EQ(-EFAULT, uv_wsend(self->fd, &w));
	/* The mask is a hint to the driver, and may be anything. */
	call.resp = &resp;
	req.attr_mask = ~0U;
	EXPECT_EQ(0, uv_call(self->fd, UV_INVOKE, &call));
}

TEST_HARNESS_MAIN
