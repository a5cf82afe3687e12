/* SPDX-License-Identifier: GPL-2.0 */
/* What exists on the device, and what this process is charged for. */
#ifndef SHVERBS_TEST_UVERBS_RES_H
#define SHVERBS_TEST_UVERBS_RES_H

#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "uverbs_raw.h"

/* As `rdma res show` counts: the kernel's own objects are in it, too. */
struct uv_res {
	unsigned long pd, cq, qp, mr, ctx, srq;
};

struct uv_nl {
	struct nlmsghdr hdr;
	__u8 data[16384];
};

static inline int uv_nl_request(int fd, __u16 cmd, __u16 flags, bool has_dev,
				__u32 dev)
{
	struct {
		struct nlmsghdr hdr;
		struct nlattr attr;
		__u32 index;
	} req = {
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd),
		.hdr.nlmsg_flags = NLM_F_REQUEST | flags,
		.hdr.nlmsg_len = has_dev ? sizeof(req) : sizeof(req.hdr),
		.attr.nla_len = sizeof(req.attr) + sizeof(req.index),
		.attr.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX,
		.index = dev,
	};

	return send(fd, &req, req.hdr.nlmsg_len, 0) < 0 ? -errno : 0;
}

static inline const struct nlattr *uv_nla_find(const void *start, int len,
					       __u16 type)
{
	const __u8 *at = start;

	while (len >= (int)sizeof(struct nlattr)) {
		const struct nlattr *attr = (const void *)at;
		int step = NLA_ALIGN(attr->nla_len);

		if (attr->nla_len < sizeof(*attr))
			break;
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		at += step;
		len -= step;
	}
	return NULL;
}

#define UV_NLA_DATA(attr) ((const void *)((attr) + 1))
#define UV_NLA_LEN(attr) ((int)((attr)->nla_len - sizeof(struct nlattr)))

/* The index of the device with this name, from a dump of all devices. */
static inline int uv_nl_index(int fd, const char *ibdev, __u32 *index)
{
	const struct nlattr *name, *idx;
	struct uv_nl *nl = malloc(sizeof(*nl));
	int ret, n, found = -ENODEV;

	ret = uv_nl_request(fd, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, false, 0);
	while (!ret && (n = recv(fd, nl, sizeof(*nl), 0)) > 0) {
		struct nlmsghdr *h = &nl->hdr;

		for (; NLMSG_OK(h, (unsigned int)n); h = NLMSG_NEXT(h, n)) {
			int len = NLMSG_PAYLOAD(h, 0);

			if (h->nlmsg_type == NLMSG_DONE ||
			    h->nlmsg_type == NLMSG_ERROR)
				ret = 1;
			name = uv_nla_find(NLMSG_DATA(h), len,
					   RDMA_NLDEV_ATTR_DEV_NAME);
			idx = uv_nla_find(NLMSG_DATA(h), len,
					  RDMA_NLDEV_ATTR_DEV_INDEX);
			if (ret || !name || !idx ||
			    strcmp(UV_NLA_DATA(name), ibdev))
				continue;
			memcpy(index, UV_NLA_DATA(idx), sizeof(*index));
			found = 0;
		}
	}
	free(nl);
	return found;
}

static inline void uv_res_entry(struct uv_res *res, const struct nlattr *entry)
{
	const struct {
		const char *name;
		unsigned long *count;
	} kinds[] = {
		{ "pd", &res->pd },   { "cq", &res->cq },   { "qp", &res->qp },
		{ "mr", &res->mr },   { "ctx", &res->ctx }, { "srq", &res->srq },
	};
	const struct nlattr *name, *count;
	size_t i;
	__u64 v;

	name = uv_nla_find(UV_NLA_DATA(entry), UV_NLA_LEN(entry),
			   RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
	count = uv_nla_find(UV_NLA_DATA(entry), UV_NLA_LEN(entry),
			    RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
	if (!name || !count)
		return;
	memcpy(&v, UV_NLA_DATA(count), sizeof(v));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(UV_NLA_DATA(name), kinds[i].name))
			*kinds[i].count = v;
}

static inline int uv_res_parse(struct uv_res *res, const struct uv_nl *nl)
{
	const struct nlattr *sum;
	const __u8 *at;
	int left;

	if (nl->hdr.nlmsg_type == NLMSG_ERROR)
		return -EIO;
	sum = uv_nla_find(nl->data, NLMSG_PAYLOAD(&nl->hdr, 0),
			  RDMA_NLDEV_ATTR_RES_SUMMARY);
	if (!sum)
		return -ENOMSG;
	at = UV_NLA_DATA(sum);
	for (left = UV_NLA_LEN(sum); left > 0;) {
		const struct nlattr *entry = (const void *)at;

		uv_res_entry(res, entry);
		at += NLA_ALIGN(entry->nla_len);
		left -= NLA_ALIGN(entry->nla_len);
	}
	return 0;
}

static inline int uv_res_get(struct uv_res *res)
{
	struct uv_nl *nl = malloc(sizeof(*nl));
	struct uv_dev dev;
	__u32 index;
	int fd, ret;

	memset(res, 0, sizeof(*res));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	ret = fd < 0 ? -errno : uv_dev_find(&dev);
	if (!ret)
		ret = uv_nl_index(fd, dev.ibdev, &index);
	if (!ret)
		ret = uv_nl_request(fd, RDMA_NLDEV_CMD_RES_GET, 0, true, index);
	if (!ret && recv(fd, nl, sizeof(*nl), 0) < (ssize_t)sizeof(nl->hdr))
		ret = -EIO;
	if (!ret)
		ret = uv_res_parse(res, nl);
	if (fd >= 0)
		close(fd);
	free(nl);
	return ret;
}

static inline bool uv_res_same(const struct uv_res *a, const struct uv_res *b)
{
	return a->pd == b->pd && a->cq == b->cq && a->qp == b->qp &&
	       a->mr == b->mr && a->ctx == b->ctx && a->srq == b->srq;
}

static inline long uv_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits for the counts to become @want: a last reference may go in a worker. */
static inline bool uv_res_settles(const struct uv_res *want, int ms)
{
	long end = uv_now_ms() + ms;
	struct uv_res now;

	do {
		if (!uv_res_get(&now) && uv_res_same(&now, want))
			return true;
		poll(NULL, 0, 5);
	} while (uv_now_ms() < end);
	fprintf(stderr, "# pd %lu/%lu cq %lu/%lu qp %lu/%lu mr %lu/%lu ctx %lu/%lu srq %lu/%lu\n",
		now.pd, want->pd, now.cq, want->cq, now.qp, want->qp, now.mr,
		want->mr, now.ctx, want->ctx, now.srq, want->srq);
	return false;
}

/* A line of /proc/PID/status in kB, as VmPin and VmLck; -ENOENT if none. */
static inline long uv_status_kb(pid_t pid, const char *key)
{
	size_t len = strlen(key);
	char path[64], line[256];
	long kb = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			kb = strtol(line + len + 1, NULL, 10);
	fclose(f);
	return kb;
}

static inline long uv_vmpin_kb(void)
{
	return uv_status_kb(getpid(), "VmPin");
}

static inline long uv_vmlck_kb(void)
{
	return uv_status_kb(getpid(), "VmLck");
}

#endif
