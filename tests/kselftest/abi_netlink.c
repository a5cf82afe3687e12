// SPDX-License-Identifier: GPL-2.0
/* What rdma netlink tells of the device and of what is on it. */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "abi_full.h"

FIXTURE(netlink)
{
	struct uv_dev dev;
	struct uv_res idle;
	struct full f;
	int nl;
	__u32 index;
};

FIXTURE_SETUP(netlink)
{
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	self->nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	ASSERT_LE(0, self->nl);
	ASSERT_EQ(0, uv_nl_index(self->nl, self->dev.ibdev, &self->index));
	ASSERT_EQ(0, full_make(&self->f));
}

FIXTURE_TEARDOWN(netlink)
{
	uv_ctx_close(&self->f.ctx);
	close(self->nl);
	EXPECT_TRUE(uv_res_settles(&self->idle, 2000));
}

/* Asks for the character device of a client; gives the attributes or -errno. */
static int chardev(int fd, __u32 index, const char *type, struct uv_nl *nl)
{
	struct {
		struct nlmsghdr hdr;
		struct nlattr dev;
		__u32 index;
		struct nlattr type;
		char name[16];
	} req = {
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						   RDMA_NLDEV_CMD_GET_CHARDEV),
		.hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.hdr.nlmsg_len = sizeof(req),
		.dev = { 8, RDMA_NLDEV_ATTR_DEV_INDEX },
		.index = index,
		.type = { sizeof(req.type) + sizeof(req.name),
			  RDMA_NLDEV_ATTR_CHARDEV_TYPE },
	};
	const struct nlmsgerr *err = (const void *)nl->data;

	snprintf(req.name, sizeof(req.name), "%s", type);
	if (send(fd, &req, sizeof(req), 0) < 0 ||
	    recv(fd, nl, sizeof(*nl), 0) < (ssize_t)sizeof(nl->hdr))
		return -EIO;
	if (nl->hdr.nlmsg_type != NLMSG_ERROR)
		return 0;
	return err->error ? err->error : -ENOMSG;
}

static __u64 number(const struct uv_nl *nl, __u16 type)
{
	const struct nlattr *attr = uv_nla_find(
		nl->data, NLMSG_PAYLOAD(&nl->hdr, 0), type);
	__u64 v = 0;

	if (!attr)
		return ~0ULL;
	memcpy(&v, UV_NLA_DATA(attr), UV_NLA_LEN(attr));
	return v;
}

/* This is how libibverbs finds the node, and the provider for it. */
TEST_F(netlink, chardev)
{
	static struct uv_nl nl;
	const struct nlattr *name;
	struct stat st;
	__u64 devt;

	ASSERT_EQ(0, chardev(self->nl, self->index, "uverbs", &nl));
	name = uv_nla_find(nl.data, NLMSG_PAYLOAD(&nl.hdr, 0),
			   RDMA_NLDEV_ATTR_CHARDEV_NAME);
	ASSERT_NE(NULL, name);
	EXPECT_STREQ(self->dev.uverbs, (const char *)UV_NLA_DATA(name));
	ASSERT_EQ(0, stat(self->dev.node, &st));
	/* huge_encode_dev(): 8 bits of the minor, the major, the rest. */
	devt = number(&nl, RDMA_NLDEV_ATTR_CHARDEV);
	EXPECT_EQ(major(st.st_rdev), (devt >> 8) & 0xfff);
	EXPECT_EQ(minor(st.st_rdev),
		  (devt & 0xff) | ((devt >> 12) & 0xfff00));
	EXPECT_EQ(2, number(&nl, RDMA_NLDEV_ATTR_CHARDEV_ABI));
	EXPECT_EQ(UV_DRIVER, number(&nl, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID));
}

TEST_F(netlink, no_such_chardev)
{
	static struct uv_nl nl;

	EXPECT_EQ(-EOPNOTSUPP, chardev(self->nl, self->index, "umad-none",
				       &nl));
	EXPECT_EQ(-EINVAL, chardev(self->nl, ~0U, "uverbs", &nl));
}

/*
 * How many objects of a kind are this process's, by their pids; @cmd lists
 * them, and @entry is the attribute around each.
 */
static int mine(int fd, __u32 index, __u16 cmd, __u16 table, __u64 *key,
		__u16 key_type)
{
	static struct uv_nl nl;
	const struct nlattr *list, *pid, *attr;
	int left, count = 0;
	const __u8 *at;
	__u32 value;

	if (uv_nl_request(fd, cmd, NLM_F_DUMP, true, index) ||
	    recv(fd, &nl, sizeof(nl), 0) < (ssize_t)sizeof(nl.hdr))
		return -EIO;
	if (nl.hdr.nlmsg_type == NLMSG_DONE)
		return 0;
	list = uv_nla_find(nl.data, NLMSG_PAYLOAD(&nl.hdr, 0), table);
	at = list ? UV_NLA_DATA(list) : NULL;
	for (left = list ? UV_NLA_LEN(list) : 0; left > 0;) {
		const struct nlattr *entry = (const void *)at;

		pid = uv_nla_find(UV_NLA_DATA(entry), UV_NLA_LEN(entry),
				  RDMA_NLDEV_ATTR_RES_PID);
		if (pid)
			memcpy(&value, UV_NLA_DATA(pid), sizeof(value));
		if (pid && value == (__u32)getpid()) {
			count++;
			attr = uv_nla_find(UV_NLA_DATA(entry),
					   UV_NLA_LEN(entry), key_type);
			if (attr)
				memcpy(key, UV_NLA_DATA(attr),
				       UV_NLA_LEN(attr));
		}
		at += NLA_ALIGN(entry->nla_len);
		left -= NLA_ALIGN(entry->nla_len);
	}
	/* The end of the dump. */
	recv(fd, &nl, sizeof(nl), 0);
	return count;
}

static const struct {
	const char *name;
	__u16 cmd, table, key;
} kinds[] = {
	{ "ctx", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
	  RDMA_NLDEV_ATTR_RES_CTXN },
	{ "pd", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
	  RDMA_NLDEV_ATTR_RES_CTXN },
	{ "mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
	  RDMA_NLDEV_ATTR_RES_MRLEN },
	{ "cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
	  RDMA_NLDEV_ATTR_RES_CTXN },
	{ "qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
	  RDMA_NLDEV_ATTR_RES_LQPN },
};

/* `rdma res show` says whose each object is, and in which context. */
TEST_F(netlink, resources_have_owners)
{
	__u64 key[ARRAY_SIZE(kinds)] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		EXPECT_EQ(1, mine(self->nl, self->index, kinds[i].cmd,
				  kinds[i].table, &key[i], kinds[i].key))
		{
			TH_LOG("%s", kinds[i].name);
		}
	}
	EXPECT_EQ(key[0], key[1]);
	EXPECT_EQ(FULL_PAGES * 4096, key[2]);
	EXPECT_EQ(key[0], key[3]);
	EXPECT_EQ(self->f.qp.qpn, key[4]);
}

TEST_HARNESS_MAIN
