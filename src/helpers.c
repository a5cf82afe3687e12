// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot call: static inlines and macros. Nothing here decides
 * anything.
 */
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/netdevice.h>
#include <rdma/ib.h>
#include <rdma/ib_cache.h>
#include <rdma/opa_addr.h>
#include "rdma_core.h"
#include "uverbs.h"
#include "helpers.h"

struct ib_ucontext *shverbs_zalloc_ucontext(struct ib_device *dev)
{
	return rdma_zalloc_drv_obj(dev, ib_ucontext);
}

struct ib_pd *shverbs_zalloc_pd(struct ib_device *dev)
{
	return rdma_zalloc_drv_obj(dev, ib_pd);
}

struct ib_cq *shverbs_zalloc_cq(struct ib_device *dev)
{
	return rdma_zalloc_drv_obj(dev, ib_cq);
}

struct ib_counters *shverbs_zalloc_counters(struct ib_device *dev)
{
	return rdma_zalloc_drv_obj(dev, ib_counters);
}

struct ib_mw *shverbs_zalloc_mw(struct ib_device *dev)
{
	return rdma_zalloc_drv_obj(dev, ib_mw);
}

bool shverbs_dev_access_current(const struct ib_device *dev)
{
	return rdma_dev_access_netns(dev, current->nsproxy->net_ns);
}

int shverbs_port_link_layer(struct ib_device *dev, u32 port)
{
	return rdma_port_get_link_layer(dev, port);
}

bool shverbs_port_valid(const struct ib_device *dev, u32 port)
{
	return rdma_is_port_valid(dev, port);
}

bool shverbs_grh_required(const struct ib_device *dev, u32 port)
{
	return rdma_is_grh_required(dev, port);
}

/* The 16 bits of a LID that the write ABI has room for. */
u16 shverbs_lid_to_user(struct ib_device *dev, u32 port, u32 lid)
{
	return rdma_cap_opa_ah(dev, port) ? OPA_TO_IB_UCAST_LID(lid) : ib_lid_cpu16(lid);
}

/* The index of a GID's network device, 0 where it has none, or an errno. */
int shverbs_gid_ifindex(const struct ib_gid_attr *attr)
{
	struct net_device *ndev;
	int ret;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev))
		ret = PTR_ERR(ndev) == -ENODEV ? 0 : PTR_ERR(ndev);
	else
		ret = ndev->ifindex;
	rcu_read_unlock();
	return ret;
}

int shverbs_check_mr_access(struct ib_device *dev, unsigned int flags)
{
	return ib_check_mr_access(dev, flags);
}

enum rdma_ah_attr_type shverbs_ah_find_type(struct ib_device *dev, u32 port)
{
	return rdma_ah_find_type(dev, port);
}

void shverbs_ah_set_lids(struct rdma_ah_attr *attr, u32 dlid, u8 path_bits)
{
	rdma_ah_set_dlid(attr, dlid);
	rdma_ah_set_path_bits(attr, path_bits);
	rdma_ah_set_make_grd(attr, false);
}

u32 shverbs_ah_get_dlid(const struct rdma_ah_attr *attr)
{
	return rdma_ah_get_dlid(attr);
}

u8 shverbs_ah_get_path_bits(const struct rdma_ah_attr *attr)
{
	return rdma_ah_get_path_bits(attr);
}

bool shverbs_uobject_get_unless_zero(struct ib_uobject *uobj)
{
	return kref_get_unless_zero(&uobj->ref);
}

/* The two counts that ib_uverbs_release_file() gives back. */
bool shverbs_device_get_unless_zero(struct ib_uverbs_device *dev)
{
	if (!refcount_inc_not_zero(&dev->refcount))
		return false;
	get_device(&dev->dev);
	return true;
}

void shverbs_device_put(struct ib_uverbs_device *dev)
{
	if (refcount_dec_and_test(&dev->refcount))
		complete(&dev->comp);
	put_device(&dev->dev);
}

void *shverbs_client_data(struct ib_device *dev, struct ib_client *client)
{
	return ib_get_client_data(dev, client);
}

void shverbs_ufile_get(struct ib_uverbs_file *ufile)
{
	kref_get(&ufile->ref);
}

void shverbs_ufile_put(struct ib_uverbs_file *ufile)
{
	kref_put(&ufile->ref, ib_uverbs_release_file);
}

bool shverbs_safe_file_access(struct file *filp)
{
	return ib_safe_file_access(filp);
}

void shverbs_get_page(struct page *page)
{
	get_page(page);
}

bool shverbs_may_read(const struct file *filp)
{
	return filp->f_mode & FMODE_READ;
}

bool shverbs_may_write(const struct file *filp)
{
	return filp->f_mode & FMODE_WRITE;
}

struct page *shverbs_zero_page(unsigned long address)
{
	return ZERO_PAGE(address);
}

struct page *shverbs_alloc_zeroed_page(void)
{
	return alloc_page(GFP_KERNEL | __GFP_ZERO);
}

void shverbs_list_del_init(struct list_head *entry)
{
	list_del_init(entry);
}

struct user_struct *shverbs_current_user(void)
{
	return get_current_user();
}

unsigned long shverbs_memlock_limit(void)
{
	return rlimit(RLIMIT_MEMLOCK);
}
