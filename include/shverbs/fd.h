/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/* Object fds on their way to others.  Included by shverbs.h. */
#ifndef SHVERBS_FD_H
#define SHVERBS_FD_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for one fd in a control message, aligned as one. */
union shv_priv_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* shv_send_fd() - pass an fd over a Unix socket, with one byte of data. */
static inline int shv_send_fd(int sock, int fd)
{
	union shv_priv_control control;
	struct cmsghdr *header;
	struct msghdr msg;
	struct iovec iov;
	char byte = 0;

	memset(&control, 0, sizeof(control));
	memset(&msg, 0, sizeof(msg));
	iov.iov_base = &byte;
	iov.iov_len = sizeof(byte);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.room;
	msg.msg_controllen = sizeof(control.room);
	header = CMSG_FIRSTHDR(&msg);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/*
 * shv_recv_fd() - take an fd that shv_send_fd() sent.
 *
 * EPIPE: the peer is gone.  EBADMSG: a message without an fd.
 */
static inline int shv_recv_fd(int sock)
{
	union shv_priv_control control;
	struct cmsghdr *header;
	struct msghdr msg;
	struct iovec iov;
	ssize_t n;
	char byte;
	int fd;

	memset(&msg, 0, sizeof(msg));
	iov.iov_base = &byte;
	iov.iov_len = sizeof(byte);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.room;
	msg.msg_controllen = sizeof(control.room);
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0) {
		if (!n)
			errno = EPIPE;
		return -1;
	}
	header = CMSG_FIRSTHDR(&msg);
	if (!header || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(fd))) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

#ifdef __cplusplus
}
#endif

#endif
