// SPDX-License-Identifier: GPL-2.0
/* Every kind that rxe lets be shared: who owns it, and what each right is for. */
#include "share.h"

#include "abi_event.h"
#include "abi_srq.h"

struct kinds {
	struct sh sh;
	struct uv_cq cq;
	__u32 handle;
};

struct kind {
	__u16 object;
	int (*make)(struct kinds *k);
	int (*destroy)(int fd, __u32 handle);
	/* What takes the right to modify it; NULL if nothing does. */
	int (*modify)(int fd, __u32 handle);
};

/* ---- the kinds ---- */

static int make_mw(struct kinds *k)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = k->sh.pd, .mw_type = 1 };
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_MW,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(k->sh.fd, UV_WRITE, &call);

	k->handle = resp.mw_handle;
	return ret;
}

static int destroy_mw(int fd, __u32 handle)
{
	struct ib_uverbs_dealloc_mw req = { .mw_handle = handle };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DEALLOC_MW,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, UV_WRITE, &call);
}

static int make_ah(struct kinds *k)
{
	struct uv_ah ah;
	int ret = uv_ah_create(k->sh.fd, k->sh.pd, &ah);

	k->handle = ah.handle;
	return ret;
}

static int destroy_ah(int fd, __u32 handle)
{
	return uv_ah_destroy(fd, handle);
}

static int make_cq(struct kinds *k)
{
	struct uv_cq cq;
	int ret = uv_cq_create(k->sh.fd, 16, -1, 0, &cq);

	k->handle = cq.handle;
	return ret;
}

static int destroy_cq(int fd, __u32 handle)
{
	return uv_cq_destroy(fd, handle, NULL);
}

static int resize_cq(int fd, __u32 handle)
{
	struct ib_uverbs_resize_cq req = { .cq_handle = handle, .cqe = 40 };
	struct ib_uverbs_resize_cq_resp resp = {};
	struct mminfo mi;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_RESIZE_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &mi, .uhw_out_len = sizeof(mi),
	};

	return uv_call(fd, UV_WRITE, &call);
}

static int make_srq(struct kinds *k)
{
	const struct srq_want want = { .pd = k->sh.pd, .max_wr = 8, .max_sge = 1 };
	struct srq srq;
	int ret = srq_create(k->sh.fd, SRQ_WRITE, &want, &srq);

	k->handle = srq.handle;
	return ret;
}

static int destroy_srq(int fd, __u32 handle)
{
	return srq_destroy(fd, SRQ_WRITE, handle, NULL);
}

static int modify_srq(int fd, __u32 handle)
{
	return srq_modify(fd, SRQ_WRITE, handle, SRQ_LIMIT, 0, 2);
}

static int make_qp(struct kinds *k)
{
	struct uv_qp qp;
	int ret = uv_qp_create(k->sh.fd, k->sh.pd, k->cq.handle,
			       IB_UVERBS_QPT_RC, &qp);

	k->handle = qp.handle;
	return ret;
}

static int destroy_qp(int fd, __u32 handle)
{
	return uv_qp_destroy(fd, handle, NULL);
}

FIXTURE(kinds)
{
	struct kinds k;
};

FIXTURE_VARIANT(kinds)
{
	struct kind kind;
};

FIXTURE_VARIANT_ADD(kinds, mw)
{
	.kind = { UVERBS_OBJECT_MW, make_mw, destroy_mw, NULL },
};

FIXTURE_VARIANT_ADD(kinds, ah)
{
	.kind = { UVERBS_OBJECT_AH, make_ah, destroy_ah, NULL },
};

FIXTURE_VARIANT_ADD(kinds, cq)
{
	.kind = { UVERBS_OBJECT_CQ, make_cq, destroy_cq, resize_cq },
};

FIXTURE_VARIANT_ADD(kinds, srq)
{
	.kind = { UVERBS_OBJECT_SRQ, make_srq, destroy_srq, modify_srq },
};

FIXTURE_VARIANT_ADD(kinds, qp)
{
	.kind = { UVERBS_OBJECT_QP, make_qp, destroy_qp, uv_qp_init },
};

FIXTURE_SETUP(kinds)
{
	struct kinds *k = &self->k;

	sh_start(_metadata, &k->sh);
	ASSERT_EQ(0, uv_cq_create(k->sh.fd, 16, -1, 0, &k->cq));
}

FIXTURE_TEARDOWN(kinds)
{
	sh_end(_metadata, &self->k.sh);
}

static int import_with(struct kinds *k, __u16 object, __u64 rights,
		       struct sh_import *import)
{
	int fd = sh_export(k->sh.fd, object, k->handle, rights), ret;

	if (fd < 0)
		return fd;
	ret = sh_import(k->sh.other, fd, import);
	close(fd);
	return ret;
}

/* The maker's destruction gives its handle up; the importer's is the last. */
TEST_F(kinds, lives_with_its_last_holder)
{
	const struct kind *kind = &variant->kind;
	struct uv_res none, one;
	struct sh_import import;

	ASSERT_EQ(0, uv_res_get(&none));
	ASSERT_EQ(0, kind->make(&self->k));
	ASSERT_EQ(0, uv_res_get(&one));
	ASSERT_EQ(0, import_with(&self->k, kind->object, 0, &import));
	EXPECT_EQ(kind->object, import.object_id);
	EXPECT_EQ(0, kind->destroy(self->k.sh.fd, self->k.handle));
	EXPECT_EQ(-ENOENT, kind->destroy(self->k.sh.fd, self->k.handle));
	abi_same(_metadata, &one, "given up by its maker");
	EXPECT_EQ(0, kind->destroy(self->k.sh.other, import.handle));
	EXPECT_EQ(-ENOENT, kind->destroy(self->k.sh.other, import.handle));
	abi_same(_metadata, &none, "given up by both");
}

TEST_F(kinds, outlives_its_maker)
{
	const struct kind *kind = &variant->kind;
	struct sh_holders now;
	struct sh_import import;

	ASSERT_EQ(0, kind->make(&self->k));
	ASSERT_EQ(0, import_with(&self->k, kind->object, 0, &import));
	close(self->k.sh.abi.ctx.async_fd);
	close(self->k.sh.fd);
	self->k.sh.abi.ctx.fd = self->k.sh.abi.ctx.async_fd = -1;
	ASSERT_EQ(0, sh_holders(self->k.sh.other, kind->object, import.handle,
				&now));
	EXPECT_EQ(1, now.handles);
	EXPECT_EQ(0, sh_release(self->k.sh.other, kind->object, import.handle));
}

TEST_F(kinds, to_modify_takes_the_right)
{
	const struct kind *kind = &variant->kind;
	struct sh_import user, owner;

	ASSERT_EQ(0, kind->make(&self->k));
	ASSERT_EQ(0, import_with(&self->k, kind->object, SHVERBS_RIGHT_USE, &user));
	EXPECT_EQ(SHVERBS_RIGHT_USE, user.rights);
	EXPECT_EQ(-EPERM, sh_export(self->k.sh.other, kind->object, user.handle, 0));
	ASSERT_EQ(0, import_with(&self->k, kind->object,
				 SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY,
				 &owner));
	if (kind->modify) {
		EXPECT_EQ(-EPERM, kind->modify(self->k.sh.other, user.handle));
		EXPECT_EQ(0, kind->modify(self->k.sh.other, owner.handle));
	}
	EXPECT_EQ(0, sh_release(self->k.sh.other, kind->object, user.handle));
	EXPECT_EQ(0, sh_release(self->k.sh.other, kind->object, owner.handle));
	EXPECT_EQ(0, kind->destroy(self->k.sh.fd, self->k.handle));
}

TEST_F(kinds, by_name)
{
	const struct kind *kind = &variant->kind;
	struct sh_name name = { .name = "kind", .mode = 0600,
				.flags = SHVERBS_PUBLISH_STRONG };
	struct sh_import import;
	char path[200];
	int fd;

	name.dir = sh_dir(path, sizeof(path));
	ASSERT_GE(name.dir, 0);
	ASSERT_EQ(0, kind->make(&self->k));
	ASSERT_EQ(0, sh_publish(self->k.sh.fd, kind->object, self->k.handle, &name));
	EXPECT_EQ(0, kind->destroy(self->k.sh.fd, self->k.handle));
	fd = openat(name.dir, "kind", O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, unlinkat(name.dir, "kind", 0));
	EXPECT_EQ(0, sh_import(self->k.sh.other, fd, &import));
	close(fd);
	close(name.dir);
	EXPECT_EQ(0, kind->destroy(self->k.sh.other, import.handle));
}

/* Whoever has been told a number must be able to use it. */
TEST_F(kinds, attributes_are_of_their_kind)
{
	const struct kind *kind = &variant->kind;
	struct shverbs_cq_attrs cq = {};
	struct shverbs_qp_attrs qp = {};
	struct sh_import import;
	struct uv_cmd cmd;
	int fd;

	ASSERT_EQ(0, kind->make(&self->k));
	fd = sh_export(self->k.sh.fd, kind->object, self->k.handle, 0);
	ASSERT_GE(fd, 0);
	sh_import_prep(&cmd, fd, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_CQ, &cq, sizeof(cq));
	EXPECT_EQ(kind->object == UVERBS_OBJECT_CQ ? 0 : -ENOMSG,
		  uv_ioctl(self->k.sh.other, &cmd));
	sh_import_prep(&cmd, fd, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_QP, &qp, sizeof(qp));
	EXPECT_EQ(kind->object == UVERBS_OBJECT_QP ? 0 : -ENOMSG,
		  uv_ioctl(self->k.sh.other, &cmd));
	EXPECT_EQ(kind->object == UVERBS_OBJECT_CQ, cq.cqe >= 16);
	EXPECT_EQ(kind->object == UVERBS_OBJECT_QP, qp.qp_num != 0);
	if (kind->object == UVERBS_OBJECT_QP)
		EXPECT_EQ(IB_UVERBS_QPT_RC, qp.qp_type);
	close(fd);
	fd = sh_export(self->k.sh.fd, kind->object, self->k.handle,
		       SHVERBS_RIGHT_SHARE);
	ASSERT_GE(fd, 0);
	sh_import_prep(&cmd, fd, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_CQ, &cq, sizeof(cq));
	EXPECT_EQ(-EPERM, uv_ioctl(self->k.sh.other, &cmd));
	close(fd);
}

/* ---- completion events ---- */

SHARE_FIXTURE(channels)

static int import_cq(struct sh *sh, int object, int channel, __u64 user,
		     struct sh_import *import)
{
	struct uv_cmd cmd;

	sh_import_prep(&cmd, object, import);
	uv_in(&cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE, &user, sizeof(user));
	uv_fd(&cmd, SHVERBS_ATTR_IMPORT_COMP_CHANNEL, channel);
	return uv_ioctl(sh->other, &cmd);
}

/* Each on its own channel, under its own user handle, until it leaves. */
TEST_F(channels, every_holder_has_its_own)
{
	struct sh *sh = &self->sh;
	int maker = uv_channel(sh->fd, UV_WRITE);
	int importer = uv_channel(sh->other, UV_WRITE);
	struct ib_uverbs_destroy_cq_resp resp;
	struct sh_import import;
	struct uv_qp qp;
	struct uv_cq cq;
	__u64 event;
	int object;

	ASSERT_GE(maker, 0);
	ASSERT_GE(importer, 0);
	ASSERT_EQ(0, uv_cq_create(sh->fd, 16, maker, 0x11, &cq));
	object = sh_export(sh->fd, UVERBS_OBJECT_CQ, cq.handle, 0);
	ASSERT_EQ(0, import_cq(sh, object, importer, 0x22, &import));
	close(object);
	/* Whoever arms it arms it for all. */
	ASSERT_EQ(0, uv_req_notify(sh->other, UV_WRITE, import.handle, 0));
	ASSERT_EQ(0, abi_flush(sh->fd, sh->pd, cq.handle, 1, &qp));
	ASSERT_EQ(POLLIN, abi_poll(maker, 3000));
	ASSERT_EQ(8, abi_read(maker, &event, sizeof(event)));
	EXPECT_EQ(0x11, event);
	ASSERT_EQ(POLLIN, abi_poll(importer, 3000));
	ASSERT_EQ(8, abi_read(importer, &event, sizeof(event)));
	EXPECT_EQ(0x22, event);
	EXPECT_EQ(0, uv_qp_destroy(sh->fd, qp.handle, NULL));

	EXPECT_EQ(0, uv_cq_destroy(sh->fd, cq.handle, &resp));
	EXPECT_EQ(1, resp.comp_events_reported);
	EXPECT_EQ(0, uv_cq_destroy(sh->other, import.handle, &resp));
	EXPECT_EQ(1, resp.comp_events_reported);
	close(maker);
	close(importer);
}

TEST_F(channels, only_ones_own_and_only_for_completions)
{
	struct sh *sh = &self->sh;
	int maker = uv_channel(sh->fd, UV_WRITE);
	struct sh_import import;
	struct uv_cq cq;
	int object;

	ASSERT_EQ(0, uv_cq_create(sh->fd, 16, -1, 0, &cq));
	object = sh_export(sh->fd, UVERBS_OBJECT_CQ, cq.handle, 0);
	EXPECT_EQ(-EBADF, import_cq(sh, object, maker, 0, &import));
	EXPECT_EQ(-EBADF, import_cq(sh, object, object, 0, &import));
	EXPECT_EQ(-EBADF, import_cq(sh, object, -1, 0, &import));
	close(object);
	close(maker);
	maker = uv_channel(sh->other, UV_WRITE);
	object = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);
	EXPECT_EQ(-EINVAL, import_cq(sh, object, maker, 0, &import));
	close(object);
	close(maker);
	EXPECT_EQ(0, uv_cq_destroy(sh->fd, cq.handle, NULL));
}

/* ---- async events ---- */

/* RTS to SQD, which makes an event once nothing is sent any more. */
static int drain(int fd, __u32 qp)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp,
		.qp_state = UV_SQD,
		.en_sqd_async_notify = 1,
		.attr_mask = UV_QP_STATE | UV_QP_EN_SQD_ASYNC_NOTIFY,
	};

	return uv_qp_modify(fd, UV_WRITE, &req);
}

#define EXPECT_EVENT(fd, user, type)                                       \
	do {                                                               \
		struct ib_uverbs_async_event_desc event = {};              \
		ASSERT_EQ(POLLIN, abi_poll(fd, 3000));                     \
		EXPECT_EQ((int)sizeof(event),                              \
			  abi_read(fd, &event, sizeof(event)));            \
		EXPECT_EQ(user, event.element);                            \
		EXPECT_EQ(type, event.event_type);                         \
	} while (0)

/* The importer drains it; both are told, and the one who is left the next time. */
TEST_F(channels, async_events_reach_every_holder)
{
	struct sh *sh = &self->sh;
	const int maker = sh->abi.ctx.async_fd, importer = sh->other_ctx.async_fd;
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_modify_qp reset = { .qp_state = UV_RESET,
					     .attr_mask = UV_QP_STATE };
	struct sh_import import;
	const __u64 user = 0x22;
	struct uv_cmd cmd;
	struct uv_cq cq;
	struct uv_qp qp;
	int object;

	ASSERT_EQ(0, uv_cq_create(sh->fd, 16, -1, 0, &cq));
	ASSERT_EQ(0, uv_qp_create(sh->fd, sh->pd, cq.handle, IB_UVERBS_QPT_RC,
				  &qp));
	ASSERT_EQ(0, uv_qp_connect(sh->fd, qp.handle, qp.qpn));
	object = sh_export(sh->fd, UVERBS_OBJECT_QP, qp.handle, 0);
	ASSERT_GE(object, 0);
	sh_import_prep(&cmd, object, &import);
	uv_in(&cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE, &user, sizeof(user));
	ASSERT_EQ(0, uv_ioctl(sh->other, &cmd));
	close(object);
	reset.qp_handle = import.handle;
	ASSERT_EQ(0, drain(sh->other, import.handle));
	EXPECT_EVENT(maker, 0x5150, UV_EVENT_SQ_DRAINED);
	EXPECT_EVENT(importer, user, UV_EVENT_SQ_DRAINED);

	EXPECT_EQ(0, uv_qp_destroy(sh->fd, qp.handle, &resp));
	EXPECT_EQ(1, resp.events_reported);
	ASSERT_EQ(0, uv_qp_modify(sh->other, UV_WRITE, &reset));
	ASSERT_EQ(0, uv_qp_connect(sh->other, import.handle, qp.qpn));
	ASSERT_EQ(0, drain(sh->other, import.handle));
	EXPECT_EVENT(importer, user, UV_EVENT_SQ_DRAINED);
	EXPECT_EQ(0, abi_poll(maker, 20));
	EXPECT_EQ(0, uv_qp_destroy(sh->other, import.handle, &resp));
	EXPECT_EQ(2, resp.events_reported);
	EXPECT_EQ(0, uv_cq_destroy(sh->fd, cq.handle, NULL));
}

TEST_HARNESS_MAIN
