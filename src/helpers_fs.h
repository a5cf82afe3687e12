/* SPDX-License-Identifier: GPL-2.0 */
/* Out-of-line copies, for Rust, of the file systems' static inlines. */
#ifndef SHVERBS_HELPERS_FS_H
#define SHVERBS_HELPERS_FS_H

#include <linux/fs.h>

/* A macro that bindgen cannot evaluate. */
static const unsigned long shverbs_sb_posixacl = SB_POSIXACL;

struct net;
struct posix_acl;

struct dentry *shverbs_dget(struct dentry *dentry);
struct dentry *shverbs_lookup(struct dentry *dir, const char *name);
void shverbs_inode_lock_parent(struct inode *dir);
void shverbs_inode_lock(struct inode *inode);
void shverbs_inode_unlock(struct inode *inode);
void shverbs_touch_dir(struct inode *dir);
void shverbs_touch_ctime(struct inode *inode);
void shverbs_fsnotify_mkdir(struct inode *dir, struct dentry *dentry);
void shverbs_fsnotify_delete(struct inode *dir, struct inode *inode, struct dentry *dentry);
void shverbs_fsnotify_rename(struct inode *dir, const struct name_snapshot *old,
			     struct dentry *dentry);
int shverbs_security_mknod(const struct path *dir, struct dentry *dentry, umode_t mode);
int shverbs_security_label(struct inode *inode, struct inode *dir, const struct qstr *name);

extern const struct xattr_handler *const shverbs_xattr_handlers[];
int shverbs_set_acl(struct mnt_idmap *idmap, struct dentry *dentry, struct posix_acl *acl,
		    int type);
int shverbs_inherit_acl(struct inode *dir, struct inode *inode);
int shverbs_acl_chmod(struct mnt_idmap *idmap, struct dentry *dentry);

struct net *shverbs_get_net(struct net *net);
void shverbs_put_net(struct net *net);

#endif
