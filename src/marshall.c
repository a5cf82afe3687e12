// SPDX-License-Identifier: GPL-2.0
/*
 * The four symbols of ib_uverbs that other modules link against: rdma_ucm wants
 * the three that copy RDMA CM state into its ABI (rdma_user_cm.h), and drivers
 * call rdma_user_mmap_disassociate(). A symbol is exported from C.
 */
#include <linux/export.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_verbs.h>
#include <rdma/opa_addr.h>
#include "helpers.h"

/*
 * An OPA address with a LID that an IB user cannot express is shown to it as a
 * GID that says the same. The subnet prefix is the port's, or OPA's default one
 * where the port cannot be asked; then the original goes out.
 */
static bool opa_ah_as_ib(struct ib_device *dev, struct rdma_ah_attr *ib,
			 const struct rdma_ah_attr *opa)
{
	struct ib_port_attr port;

	if (opa->type != RDMA_AH_ATTR_TYPE_OPA ||
	    rdma_ah_get_dlid(opa) <= be16_to_cpu(IB_LID_PERMISSIVE) ||
	    ib_query_port(dev, rdma_ah_get_port_num(opa), &port))
		return false;
	*ib = *opa;
	ib->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_grh(ib, NULL, 0, 0, 1, 0);
	rdma_ah_set_subnet_prefix(ib, cpu_to_be64(port.subnet_prefix));
	rdma_ah_set_interface_id(ib, OPA_MAKE_ID(rdma_ah_get_dlid(opa)));
	return true;
}

void ib_copy_ah_attr_to_user(struct ib_device *device, struct ib_uverbs_ah_attr *dst,
			     struct rdma_ah_attr *src)
{
	struct rdma_ah_attr converted;
	const struct ib_global_route *grh;

	if (opa_ah_as_ib(device, &converted, src))
		src = &converted;
	*dst = (struct ib_uverbs_ah_attr) {
		.dlid = rdma_ah_get_dlid(src),
		.sl = rdma_ah_get_sl(src),
		.src_path_bits = rdma_ah_get_path_bits(src),
		.static_rate = rdma_ah_get_static_rate(src),
		.is_global = !!(rdma_ah_get_ah_flags(src) & IB_AH_GRH),
		.port_num = rdma_ah_get_port_num(src),
	};
	if (!dst->is_global)
		return;
	grh = rdma_ah_read_grh(src);
	memcpy(dst->grh.dgid, &grh->dgid, sizeof(dst->grh.dgid));
	dst->grh.flow_label = grh->flow_label;
	dst->grh.sgid_index = grh->sgid_index;
	dst->grh.hop_limit = grh->hop_limit;
	dst->grh.traffic_class = grh->traffic_class;
}
EXPORT_SYMBOL(ib_copy_ah_attr_to_user);

void ib_copy_qp_attr_to_user(struct ib_device *device, struct ib_uverbs_qp_attr *dst,
			     struct ib_qp_attr *src)
{
	/* The caller owns the words around ours, such as qp_attr_mask. */
	ib_copy_ah_attr_to_user(device, &dst->ah_attr, &src->ah_attr);
	ib_copy_ah_attr_to_user(device, &dst->alt_ah_attr, &src->alt_ah_attr);
	memset(dst->reserved, 0, sizeof(dst->reserved));

	dst->max_send_wr = src->cap.max_send_wr;
	dst->max_recv_wr = src->cap.max_recv_wr;
	dst->max_send_sge = src->cap.max_send_sge;
	dst->max_recv_sge = src->cap.max_recv_sge;
	dst->max_inline_data = src->cap.max_inline_data;

#define COPY(field) (dst->field = src->field)
	COPY(qp_state);
	COPY(cur_qp_state);
	COPY(path_mtu);
	COPY(path_mig_state);
	COPY(qkey);
	COPY(rq_psn);
	COPY(sq_psn);
	COPY(dest_qp_num);
	COPY(qp_access_flags);
	COPY(pkey_index);
	COPY(alt_pkey_index);
	COPY(en_sqd_async_notify);
	COPY(sq_draining);
	COPY(max_rd_atomic);
	COPY(max_dest_rd_atomic);
	COPY(min_rnr_timer);
	COPY(port_num);
	COPY(timeout);
	COPY(retry_cnt);
	COPY(rnr_retry);
	COPY(alt_port_num);
	COPY(alt_timeout);
#undef COPY
}
EXPORT_SYMBOL(ib_copy_qp_attr_to_user);

void ib_copy_path_rec_to_user(struct ib_user_path_rec *dst, struct sa_path_rec *src)
{
	struct sa_path_rec ib;

	if (src->rec_type == SA_PATH_REC_TYPE_OPA) {
		sa_convert_path_opa_to_ib(&ib, src);
		src = &ib;
	}
	memcpy(dst->dgid, &src->dgid, sizeof(dst->dgid));
	memcpy(dst->sgid, &src->sgid, sizeof(dst->sgid));
	dst->dlid = htons(ntohl(sa_path_get_dlid(src)));
	dst->slid = htons(ntohl(sa_path_get_slid(src)));
	dst->raw_traffic = sa_path_get_raw_traffic(src);

#define COPY(field) (dst->field = src->field)
	COPY(flow_label);
	COPY(reversible);
	COPY(mtu);
	COPY(pkey);
	COPY(hop_limit);
	COPY(traffic_class);
	COPY(numb_path);
	COPY(sl);
	COPY(mtu_selector);
	COPY(rate_selector);
	COPY(rate);
	COPY(packet_life_time_selector);
	COPY(packet_life_time);
	COPY(preference);
#undef COPY
}
EXPORT_SYMBOL(ib_copy_path_rec_to_user);

/*
 * For drivers that must take back what user space has mapped, for instance
 * before a reset: afterwards every mapping of the device shows the zero page.
 */
void rdma_user_mmap_disassociate(struct ib_device *device)
{
	shverbs_mmap_disassociate(device);
}
EXPORT_SYMBOL(rdma_user_mmap_disassociate);
