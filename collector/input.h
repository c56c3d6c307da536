/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * input.h - the bytes of a trace, whatever they come from.
 *
 * A trace is one or more files, the pieces of a rotated trace in order; their
 * bytes are numbered through, and that number is called pos everywhere.  What
 * cannot be read twice (pipe, FIFO, standard input) is first copied into an
 * unnamed temporary file, so that every trace can be read at any place.
 */
#ifndef XENFLUSH_INPUT_H
#define XENFLUSH_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct piece {
    char *name;             /* as given; "-" is standard input */
    int fd;
    uint64_t start;         /* pos of its first byte */
    uint64_t bytes;
};

struct input {
    struct piece *piece;
    unsigned int pieces;
    uint64_t bytes;         /* of all pieces */
};

/*
 * Opens the pieces; spool_dir is where copies of pipes go.  Returns 0, or -1
 * after a message.
 */
int input_open(struct input *input, char *const *names, unsigned int count,
               const char *spool_dir);

/*
 * Reads up to `size` bytes at pos, less only at the end of the trace.  Returns
 * how many, or -1 after a message.
 */
int64_t input_read(const struct input *input, uint64_t pos, void *buffer, size_t size);

/* The piece that holds pos (the last one for the end of the trace). */
const struct piece *input_piece(const struct input *input, uint64_t pos);

/* An unnamed temporary file in the directory.  Returns its fd or -1, errno set. */
int input_temporary(const char *directory);

void input_close(struct input *input);

/* Forward reading through one buffer. */
struct reader {
    const struct input *input;
    unsigned char *buffer;
    size_t size;
    uint64_t start;         /* pos of buffer[0] */
    size_t filled;
    int failed;             /* a read failed; a message was given */
};

int reader_init(struct reader *reader, const struct input *input, size_t size);

/*
 * The bytes at pos, at least `want` of them (at most the buffer's size) unless
 * the trace ends before; *got says how many there are.
 */
const unsigned char *reader_at(struct reader *reader, uint64_t pos, size_t want, size_t *got);

void reader_release(struct reader *reader);

#endif
