// SPDX-License-Identifier: GPL-2.0
/*
 * What sharing costs, against registering the same memory.  Needs shverbs and a
 * mounted object file system.
 */
#include "bench.h"
#include "loopback.h"
#include "shverbs.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ)
#define DIR	SHVERBS_FS_MOUNT_POINT "/rxe0"
#define WARM	20
#define TIMES	101

struct share {
	struct ibv_context *maker, *user;
	struct ibv_pd *pd;	/* the maker's */
	struct ibv_pd *mine;	/* the same, imported by the user */
	struct ibv_mr *mr;
	void *memory;
	size_t length;
	int fd;			/* of the MR */
	char path[256], other[256];
};

/* By the kernel's interface: what sharing itself costs. */
static int import_release(void *arg)
{
	struct share *s = arg;
	struct shv_priv_import import;
	int ret;

	bench_start();
	ret = shv_priv_import(s->user, s->fd, UVERBS_OBJECT_MR, &import);
	if (!ret)
		ret = shv_priv_release(s->user, UVERBS_OBJECT_MR, import.handle);
	bench_stop();
	return ret ? errno : 0;
}

static int library_import_release(void *arg)
{
	struct share *s = arg;
	struct ibv_mr *mr;
	int ret;

	bench_start();
	mr = shv_import_mr(s->mine, s->fd);
	if (!mr)
		return errno;
	ret = shv_release_mr(mr);
	bench_stop();
	return ret ? errno : 0;
}

static int by_name(void *arg)
{
	struct share *s = arg;
	struct shv_priv_import import;
	int ret, fd;

	bench_start();
	fd = shv_open(s->path, O_RDWR);
	if (fd < 0)
		return errno;
	ret = shv_priv_import(s->user, fd, UVERBS_OBJECT_MR, &import);
	if (!ret)
		ret = shv_priv_release(s->user, UVERBS_OBJECT_MR, import.handle);
	close(fd);
	bench_stop();
	return ret ? errno : 0;
}

static int open_name(void *arg)
{
	struct share *s = arg;
	int fd;

	bench_start();
	fd = shv_open(s->path, O_RDWR);
	if (fd < 0)
		return errno;
	close(fd);
	bench_stop();
	return 0;
}

static int publish(void *arg)
{
	struct share *s = arg;
	int ret;

	bench_start();
	ret = shv_publish_mr(s->mr, AT_FDCWD, s->other, 0600, 0);
	if (!ret)
		ret = unlink(s->other);
	bench_stop();
	return ret ? errno : 0;
}

static int export(void *arg)
{
	struct share *s = arg;
	int fd;

	bench_start();
	fd = shv_export_mr(s->mr, 0);
	if (fd < 0)
		return errno;
	close(fd);
	bench_stop();
	return 0;
}

static int registration(void *arg)
{
	struct share *s = arg;
	struct ibv_mr *mr;
	int err;

	bench_start();
	mr = ibv_reg_mr(s->pd, s->memory, s->length, ACCESS);
	if (!mr)
		return errno;
	err = ibv_dereg_mr(mr);
	bench_stop();
	return err;
}

static void publish_mr(struct share *s)
{
	s->mr = bench_need(ibv_reg_mr(s->pd, s->memory, s->length, ACCESS),
			   "ibv_reg_mr");
	bench_must(shv_publish_mr(s->mr, AT_FDCWD, s->path, 0600, 0),
		   "shv_publish_mr");
	s->fd = shv_open(s->path, O_RDWR);
	bench_must(s->fd < 0 ? errno : 0, "shv_open");
}

static void forget_mr(struct share *s)
{
	close(s->fd);
	bench_must(ibv_dereg_mr(s->mr), "ibv_dereg_mr");
}

static void of_size(struct share *s, size_t length, const char *size)
{
	int times = length > MIB ? 9 : TIMES;
	char name[64];

	s->length = length;
	snprintf(s->path, sizeof(s->path), DIR "/bench.%zu", length);
	publish_mr(s);
	snprintf(name, sizeof(name), "register MR %s", size);
	bench("share", name, 2, times, registration, s);
	snprintf(name, sizeof(name), "import MR %s", size);
	bench("share", name, WARM, TIMES, import_release, s);
	snprintf(name, sizeof(name), "import MR %s by name", size);
	bench("share", name, WARM, TIMES, by_name, s);
	snprintf(name, sizeof(name), "shv_import_mr() %s", size);
	bench("share", name, WARM, TIMES, library_import_release, s);
	forget_mr(s);
}

/* @from names there are already, @to there are to be. */
static void with_names(struct share *s, int from, int to)
{
	char name[64];
	int i;

	for (i = from; i < to; i++) {
		snprintf(s->other, sizeof(s->other), DIR "/bench.name.%05d", i);
		bench_must(shv_publish_mr(s->mr, AT_FDCWD, s->other, 0600, 0),
			   "shv_publish_mr");
	}
	snprintf(s->path, sizeof(s->path), DIR "/bench.name.%05d", to / 2);
	snprintf(s->other, sizeof(s->other), DIR "/bench.name.one-more");
	snprintf(name, sizeof(name), "publish, %d names", to);
	bench("names", name, WARM, TIMES, publish, s);
	snprintf(name, sizeof(name), "open, %d names", to);
	bench("names", name, WARM, TIMES, open_name, s);
	snprintf(name, sizeof(name), "import by name, %d names", to);
	bench("names", name, WARM, TIMES, by_name, s);
}

static void with_holders(struct share *s)
{
	static const int counts[] = { 1, 10, 100, 1000, 10000 };
	struct shv_priv_import import;
	char name[64];
	size_t i;
	int n = 0;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (; n < counts[i]; n++)
			bench_must(shv_priv_import(s->user, s->fd,
						   UVERBS_OBJECT_MR, &import),
				   "import");
		snprintf(name, sizeof(name), "import MR, %d holders", n);
		bench("holders", name, WARM, TIMES, import_release, s);
	}
	/* The user's file is closed with all of them. */
	bench_start();
	ibv_close_device(s->user);
	bench_stop();
	bench_name("holders", "close a file, for each of 10000 handles");
	printf("%lu\n", (bench_stopped - bench_started) / n);
}

int main(void)
{
	static struct share s;
	int fd;

	s.maker = bench_need(loop_open_device("rxe0"), "ibv_open_device");
	s.user = bench_need(loop_open_device("rxe0"), "ibv_open_device");
	s.pd = bench_need(ibv_alloc_pd(s.maker), "ibv_alloc_pd");
	fd = shv_export_pd(s.pd, 0);
	bench_must(fd < 0 ? errno : 0, "shv_export_pd");
	s.mine = bench_need(shv_import_pd(s.user, fd), "shv_import_pd");
	s.memory = bench_memory(128 * MIB);

	of_size(&s, 4 * KIB, "4 KiB");
	of_size(&s, MIB, "1 MiB");
	of_size(&s, 128 * MIB, "128 MiB");

	s.length = 4 * KIB;
	snprintf(s.path, sizeof(s.path), DIR "/bench.held");
	publish_mr(&s);
	bench("share", "export MR", WARM, TIMES, export, &s);
	with_names(&s, 0, 10);
	with_names(&s, 10, 10000);
	with_holders(&s);
	return 0;
}
