// SPDX-License-Identifier: GPL-2.0
/*
 * A TCG plugin for QEMU: which blocks of code are executed, how often, between
 * two marks in the guest.  bench.h has the marks: xchg %rsi,%rsi begins, xchg
 * %rbp,%rbp ends what is counted, and xchg %r8,%r8 writes to the file out=FILE
 * what has been counted since the last time, a line "ADDRESS TIMES INSTRUCTIONS
 * REPEATED" for each block, after a line "operation".  (Those of %rbx, %rcx, %rdx and %rdi
 * are Valgrind's, and in libibverbs.)
 *
 * Debian has no package with qemu-plugin.h, so what is used of version 7 of the
 * interface is declared here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t len);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(struct qemu_plugin_tb *tb, void *data), void *data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
		void (*cb)(unsigned int cpu, void *data), int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int cpu, void *data), int flags, void *data);

enum { MEM_W = 2 };
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int cpu, uint32_t info, uint64_t address, void *data),
		int flags, int rw, void *data);

EXPORT int qemu_plugin_version = 7;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

/*
 * One for each translation; code that is translated anew has several.
 * Repeated are the rounds of string instructions: -icount counts each of them.
 */
struct block {
	struct block *next;
	uint64_t address, times, instructions, repeated;
};

static struct block *blocks;
static bool counting;
static FILE *out;

static void executed(unsigned int cpu, void *data)
{
	struct block *block = data;

	(void)cpu;
	block->times += counting;
}

static void wrote(unsigned int cpu, uint32_t info, uint64_t address, void *data)
{
	struct block *block = data;

	(void)cpu;
	(void)info;
	(void)address;
	block->repeated += counting;
}

static void begin(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	counting = true;
}

static void end(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	counting = false;
}

static void dump(unsigned int cpu, void *data)
{
	struct block *block;

	(void)cpu;
	(void)data;
	fprintf(out, "operation\n");
	for (block = blocks; block; block = block->next) {
		if (block->times)
			fprintf(out, "%lx %lu %lu %lu\n", block->address,
				block->times, block->instructions,
				block->repeated);
		block->times = 0;
		block->repeated = 0;
	}
	fflush(out);
}

/* rep movs or rep stos, of which every round writes once. */
static bool is_string(const uint8_t *code, size_t len)
{
	size_t at = len > 2 && (code[1] & 0xf0) == 0x40 ? 2 : 1;

	return len > at && code[0] == 0xf3 &&
	       (code[at] == 0xa4 || code[at] == 0xa5 || code[at] == 0xaa ||
		code[at] == 0xab);
}

static void translated(struct qemu_plugin_tb *tb, void *data)
{
	static const struct {
		uint8_t code[3];
		void (*cb)(unsigned int cpu, void *data);
	} marks[] = {
		{ { 0x48, 0x87, 0xf6 }, begin },
		{ { 0x48, 0x87, 0xed }, end },
		{ { 0x4d, 0x87, 0xc0 }, dump },
	};
	struct block *block = calloc(1, sizeof(*block));
	size_t i, m;

	(void)data;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->instructions = qemu_plugin_tb_n_insns(tb);
	block->next = blocks;
	blocks = block;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, block);
	for (i = 0; i < block->instructions; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t code[3] = {};
		size_t len = qemu_plugin_insn_data(insn, code, sizeof(code));

		if (is_string(code, len))
			qemu_plugin_register_vcpu_mem_cb(insn, wrote, 0, MEM_W,
							 block);
		if (len != sizeof(code))
			continue;
		for (m = 0; m < sizeof(marks) / sizeof(marks[0]); m++)
			if (!memcmp(code, marks[m].code, sizeof(code)))
				qemu_plugin_register_vcpu_insn_exec_cb(insn,
						marks[m].cb, 0, NULL);
	}
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc < 1 || strncmp(argv[0], "out=", 4))
		return -1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	return 0;
}
