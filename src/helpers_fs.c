// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot call of the VFS: static inlines and macros. Nothing here
 * decides anything.
 */
#include <linux/fs.h>
#include <linux/fsnotify.h>
#include <linux/namei.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/security.h>
#include <net/net_namespace.h>
#include "helpers_fs.h"

struct dentry *shverbs_dget(struct dentry *dentry)
{
	return dget(dentry);
}

struct dentry *shverbs_lookup(struct dentry *dir, const char *name)
{
	return lookup_noperm(&QSTR(name), dir);
}

void shverbs_inode_lock_parent(struct inode *dir)
{
	inode_lock_nested(dir, I_MUTEX_PARENT);
}

void shverbs_inode_lock(struct inode *inode)
{
	inode_lock(inode);
}

void shverbs_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

void shverbs_touch_dir(struct inode *dir)
{
	inode_set_mtime_to_ts(dir, inode_set_ctime_current(dir));
}

void shverbs_touch_ctime(struct inode *inode)
{
	inode_set_ctime_current(inode);
}

void shverbs_fsnotify_mkdir(struct inode *dir, struct dentry *dentry)
{
	fsnotify_mkdir(dir, dentry);
}

void shverbs_fsnotify_delete(struct inode *dir, struct inode *inode, struct dentry *dentry)
{
	fsnotify_delete(dir, inode, dentry);
}

void shverbs_fsnotify_rename(struct inode *dir, const struct name_snapshot *old,
			     struct dentry *dentry)
{
	fsnotify_move(dir, dir, &old->name, d_is_dir(dentry), NULL, dentry);
}

int shverbs_security_mknod(const struct path *dir, struct dentry *dentry, umode_t mode)
{
	return security_path_mknod(dir, dentry, mode, 0);
}

/* Without a callback for extended attributes the label stays in memory. */
int shverbs_security_label(struct inode *inode, struct inode *dir, const struct qstr *name)
{
	return security_inode_init_security(inode, dir, name, NULL, NULL);
}

/* Lists ACLs among the extended attributes. The VFS itself gets and sets them. */
const struct xattr_handler *const shverbs_xattr_handlers[] = {
	&nop_posix_acl_access,
	&nop_posix_acl_default,
	NULL
};

/* simple_set_acl() of fs/posix_acl.c, which is not exported. */
int shverbs_set_acl(struct mnt_idmap *idmap, struct dentry *dentry, struct posix_acl *acl,
		    int type)
{
	struct inode *inode = d_inode(dentry);

	if (type == ACL_TYPE_ACCESS) {
		int error = posix_acl_update_mode(idmap, inode, &inode->i_mode, &acl);

		if (error)
			return error;
	}
	inode_set_ctime_current(inode);
	set_cached_acl(inode, type, acl);
	return 0;
}

/*
 * simple_acl_create() of fs/posix_acl.c, which is not exported. The umask is
 * applied where there is no default ACL.
 */
int shverbs_inherit_acl(struct inode *dir, struct inode *inode)
{
	struct posix_acl *default_acl, *acl;
	int error = posix_acl_create(dir, &inode->i_mode, &default_acl, &acl);

	if (error)
		return error;
	set_cached_acl(inode, ACL_TYPE_DEFAULT, default_acl);
	set_cached_acl(inode, ACL_TYPE_ACCESS, acl);
	posix_acl_release(default_acl);
	posix_acl_release(acl);
	return 0;
}

int shverbs_acl_chmod(struct mnt_idmap *idmap, struct dentry *dentry)
{
	return posix_acl_chmod(idmap, dentry, d_inode(dentry)->i_mode);
}

struct net *shverbs_get_net(struct net *net)
{
	return get_net(net);
}

void shverbs_put_net(struct net *net)
{
	put_net(net);
}
