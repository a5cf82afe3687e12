// SPDX-License-Identifier: GPL-2.0
/*
 * A driver without hardware, for kinds of objects that rdma_rxe has not: it
 * keeps them in memory, counts them, and looks at what the verbs layer passes.
 * Its parameters tell what there is:
 *
 *	dms, mrs, counters,	how many objects there are
 *	xrcds, srqs
 *	wrong			how often something was not as drivers may expect
 *	bound			write 1: counters made from now on are in use;
 *				write 0: those made last are not
 *	refuse			write 1: nothing is destroyed
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct ov_context {
	struct ib_ucontext base;
	u32 magic;
};

#define OV_MAGIC 0x6f766563
#define OV_DM_SIZE 65536

static int dms, mrs, counters, xrcds, srqs, wrong, bound, refuse;
static struct ib_counters *newest;
static struct ib_device *device;

module_param(dms, int, 0444);
module_param(mrs, int, 0444);
module_param(counters, int, 0444);
module_param(xrcds, int, 0444);
module_param(srqs, int, 0444);
module_param(wrong, int, 0444);
module_param(refuse, int, 0644);

static int set_bound(const char *value, const struct kernel_param *param)
{
	int ret = param_set_int(value, param);

	if (!ret && !bound && newest)
		atomic_set(&newest->usecnt, 0);
	return ret;
}

static const struct kernel_param_ops bound_ops = {
	.set = set_bound,
	.get = param_get_int,
};
module_param_cb(bound, &bound_ops, &bound, 0644);

static void expect(bool right, const char *what)
{
	if (right)
		return;
	wrong++;
	pr_info("objverbs: %s\n", what);
}

/* What a driver finds of the context in each call, and in each object. */
static void expect_context(struct ib_udata *udata, struct ib_uobject *uobject)
{
	struct ov_context *context =
		rdma_udata_to_drv_context(udata, struct ov_context, base);

	expect(context && context->magic == OV_MAGIC, "no context in a call");
	if (uobject)
		expect(uobject->context == &context->base,
		       "an object of another context");
}

static int ov_query_device(struct ib_device *dev, struct ib_device_attr *attr,
			   struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_pd = 1024;
	attr->max_mr = 1024;
	attr->max_dm_size = OV_DM_SIZE;
	return 0;
}

static int ov_query_port(struct ib_device *dev, u32 port,
			 struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	return 0;
}

static int ov_get_port_immutable(struct ib_device *dev, u32 port,
				 struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int ov_query_gid(struct ib_device *dev, u32 port, int index,
			union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	return 0;
}

static int ov_query_pkey(struct ib_device *dev, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static int ov_alloc_ucontext(struct ib_ucontext *base, struct ib_udata *udata)
{
	container_of(base, struct ov_context, base)->magic = OV_MAGIC;
	return 0;
}

static void ov_dealloc_ucontext(struct ib_ucontext *base)
{
	struct ov_context *context = container_of(base, struct ov_context, base);

	expect(context->magic == OV_MAGIC, "not our context");
	expect(!dms && !mrs && !counters && !srqs, "a context goes before its objects");
	context->magic = 0;
}

static int ov_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	expect_context(udata, pd->uobject);
	return 0;
}

static int ov_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	expect_context(udata, pd->uobject);
	return 0;
}

static struct ib_dm *ov_alloc_dm(struct ib_device *dev,
				 struct ib_ucontext *context,
				 struct ib_dm_alloc_attr *attr,
				 struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *dm;

	expect_context(&attrs->driver_udata, NULL);
	if (attr->length > OV_DM_SIZE || attr->alignment > 16)
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dms++;
	return dm;
}

static int ov_dealloc_dm(struct ib_dm *dm, struct uverbs_attr_bundle *attrs)
{
	expect_context(&attrs->driver_udata, dm->uobject);
	expect(!atomic_read(&dm->usecnt), "device memory goes before its MRs");
	if (refuse)
		return -EBUSY;
	dms--;
	kfree(dm);
	return 0;
}

static struct ib_mr *ov_reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm,
				  struct ib_dm_mr_attr *attr,
				  struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *mr;

	expect_context(&attrs->driver_udata, dm->uobject);
	expect_context(&attrs->driver_udata, pd->uobject);
	expect(attr->offset + attr->length <= dm->length, "an MR beyond");
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->lkey = 0x1000 + attr->offset;
	mr->rkey = 0x2000 + attr->offset;
	mr->length = attr->length;
	mrs++;
	return mr;
}

static int ov_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	expect_context(udata, mr->uobject);
	expect(mr->type == IB_MR_TYPE_DM && mr->dm, "not an MR of device memory");
	if (refuse)
		return -EBUSY;
	mrs--;
	kfree(mr);
	return 0;
}

static struct ib_mr *ov_rereg_user_mr(struct ib_mr *mr, int flags, u64 start,
				      u64 length, u64 iova, int access,
				      struct ib_pd *pd, struct ib_udata *udata)
{
	expect(false, "an MR of device memory is registered anew");
	return ERR_PTR(-EIO);
}

static int ov_create_counters(struct ib_counters *new,
			      struct uverbs_attr_bundle *attrs)
{
	expect_context(&attrs->driver_udata, new->uobject);
	expect(new->device == device, "counters of another device");
	if (bound)
		atomic_set(&new->usecnt, 1);
	newest = new;
	counters++;
	return 0;
}

static int ov_destroy_counters(struct ib_counters *old)
{
	expect(!atomic_read(&old->usecnt), "counters go while in use");
	if (refuse)
		return -EBUSY;
	if (newest == old)
		newest = NULL;
	counters--;
	return 0;
}

static int ov_read_counters(struct ib_counters *from,
			    struct ib_counters_read_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	u32 i;

	for (i = 0; i < attr->ncounters; i++) {
		expect(!attr->counters_buff[i], "a stale value");
		attr->counters_buff[i] = 100 + i + (attr->flags ? 1000 : 0);
	}
	return 0;
}

static int ov_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	expect_context(udata, NULL);
	xrcds++;
	return 0;
}

static int ov_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	expect_context(udata, NULL);
	expect(!atomic_read(&xrcd->usecnt), "a domain goes before its SRQs");
	if (refuse)
		return -EBUSY;
	xrcds--;
	return 0;
}

static int ov_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	expect_context(&attrs->driver_udata, NULL);
	cq->cqe = attr->cqe;
	return 0;
}

static int ov_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	expect_context(udata, NULL);
	expect(!atomic_read(&cq->usecnt), "a CQ goes before its SRQs");
	return 0;
}

static int ov_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			 struct ib_udata *udata)
{
	expect_context(udata, NULL);
	if (attr->srq_type == IB_SRQT_XRC) {
		expect(attr->ext.xrc.xrcd && attr->ext.cq,
		       "an XRC SRQ without its parents");
		srq->ext.xrc.srq_num = 77;
	}
	srqs++;
	return 0;
}

static int ov_destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	expect_context(udata, NULL);
	srqs--;
	return 0;
}

static void ov_disassociate(struct ib_ucontext *context)
{
}

static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	/* That of rxe, with which the tests' functions make all calls. */
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = 1,
	.query_device = ov_query_device,
	.query_port = ov_query_port,
	.get_port_immutable = ov_get_port_immutable,
	.query_gid = ov_query_gid,
	.query_pkey = ov_query_pkey,
	.alloc_ucontext = ov_alloc_ucontext,
	.dealloc_ucontext = ov_dealloc_ucontext,
	.disassociate_ucontext = ov_disassociate,
	.alloc_pd = ov_alloc_pd,
	.dealloc_pd = ov_dealloc_pd,
	.alloc_dm = ov_alloc_dm,
	.dealloc_dm = ov_dealloc_dm,
	.reg_dm_mr = ov_reg_dm_mr,
	.dereg_mr = ov_dereg_mr,
	.rereg_user_mr = ov_rereg_user_mr,
	.create_counters = ov_create_counters,
	.destroy_counters = ov_destroy_counters,
	.read_counters = ov_read_counters,
	.alloc_xrcd = ov_alloc_xrcd,
	.dealloc_xrcd = ov_dealloc_xrcd,
	.create_cq = ov_create_cq,
	.destroy_cq = ov_destroy_cq,
	.create_srq = ov_create_srq,
	.destroy_srq = ov_destroy_srq,
	INIT_RDMA_OBJ_SIZE(ib_ucontext, ov_context, base),
	.size_ib_xrcd = sizeof(struct ib_xrcd),
	.size_ib_cq = sizeof(struct ib_cq),
	.size_ib_srq = sizeof(struct ib_srq),
	.size_ib_pd = sizeof(struct ib_pd),
	.size_ib_counters = sizeof(struct ib_counters),
};

static int __init ov_init(void)
{
	int ret;

	device = _ib_alloc_device(sizeof(*device), &init_net);
	if (!device)
		return -ENOMEM;
	device->node_type = RDMA_NODE_UNSPECIFIED;
	device->phys_port_cnt = 1;
	device->num_comp_vectors = 1;
	ib_set_device_ops(device, &ops);
	ret = ib_register_device(device, "objverbs%d", NULL);
	if (ret)
		ib_dealloc_device(device);
	return ret;
}

static void __exit ov_exit(void)
{
	ib_unregister_device(device);
	ib_dealloc_device(device);
}

module_init(ov_init);
module_exit(ov_exit);
MODULE_DESCRIPTION("A driver without hardware, for the tests of shverbs");
MODULE_LICENSE("GPL");
