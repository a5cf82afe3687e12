/* SPDX-License-Identifier: GPL-2.0 */
/* Out-of-line copies, for Rust, of static inlines and macros of the headers. */
#ifndef SHVERBS_HELPERS_H
#define SHVERBS_HELPERS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_types.h>

struct ib_uverbs_device;

struct ib_ucontext *shverbs_zalloc_ucontext(struct ib_device *dev);
struct ib_pd *shverbs_zalloc_pd(struct ib_device *dev);
struct ib_cq *shverbs_zalloc_cq(struct ib_device *dev);
struct ib_counters *shverbs_zalloc_counters(struct ib_device *dev);
struct ib_mw *shverbs_zalloc_mw(struct ib_device *dev);

bool shverbs_dev_access_current(const struct ib_device *dev);
int shverbs_port_link_layer(struct ib_device *dev, u32 port);
bool shverbs_port_valid(const struct ib_device *dev, u32 port);
bool shverbs_grh_required(const struct ib_device *dev, u32 port);
u16 shverbs_lid_to_user(struct ib_device *dev, u32 port, u32 lid);
int shverbs_gid_ifindex(const struct ib_gid_attr *attr);
int shverbs_check_mr_access(struct ib_device *dev, unsigned int flags);

enum rdma_ah_attr_type shverbs_ah_find_type(struct ib_device *dev, u32 port);
void shverbs_ah_set_lids(struct rdma_ah_attr *attr, u32 dlid, u8 path_bits);
u32 shverbs_ah_get_dlid(const struct rdma_ah_attr *attr);
u8 shverbs_ah_get_path_bits(const struct rdma_ah_attr *attr);

bool shverbs_uobject_get_unless_zero(struct ib_uobject *uobj);
bool shverbs_device_get_unless_zero(struct ib_uverbs_device *dev);
void shverbs_device_put(struct ib_uverbs_device *dev);
void *shverbs_client_data(struct ib_device *dev, struct ib_client *client);
void shverbs_ufile_get(struct ib_uverbs_file *ufile);
void shverbs_ufile_put(struct ib_uverbs_file *ufile);

bool shverbs_safe_file_access(struct file *filp);
void shverbs_get_page(struct page *page);
bool shverbs_may_read(const struct file *filp);
bool shverbs_may_write(const struct file *filp);
struct page *shverbs_zero_page(unsigned long address);
struct page *shverbs_alloc_zeroed_page(void);
struct user_struct *shverbs_current_user(void);
unsigned long shverbs_memlock_limit(void);
void shverbs_list_del_init(struct list_head *entry);

/* Implemented in Rust; see rdma_user_mmap_disassociate() in marshall.c. */
void shverbs_mmap_disassociate(struct ib_device *dev);

#endif
