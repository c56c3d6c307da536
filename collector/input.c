/* SPDX-License-Identifier: GPL-2.0-only */
/* input.c - see input.h. */
#define _GNU_SOURCE
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "log.h"

int input_temporary(const char *directory)
{
    char *name;
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    if (asprintf(&name, "%s/.xenflush-XXXXXX", directory) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);

        if (n < 0) {
            if (errno == EINTR && !interrupted())
                continue;
            return -1;
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Copies a pipe into a temporary file that takes its place. */
static int spool(struct piece *piece, const char *directory)
{
    static char buffer[256 * 1024];
    int copy = input_temporary(directory);

    if (copy < 0) {
        log_error("%s: no temporary file for the pipe's bytes: %s", directory, strerror(errno));
        return -1;
    }
    for (;;) {
        ssize_t n = interrupted() ? 0 : read(piece->fd, buffer, sizeof(buffer));

        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            log_error("%s: read error at byte %llu: %s", piece->name,
                      (unsigned long long)piece->bytes, strerror(errno));
            close(copy);
            return -1;
        }
        if (write_all(copy, buffer, (size_t)n)) {
            log_error("%s: cannot keep the pipe's bytes: %s", directory, strerror(errno));
            close(copy);
            return -1;
        }
        piece->bytes += (uint64_t)n;
    }
    close(piece->fd);
    piece->fd = copy;
    return 0;
}

static int open_piece(struct piece *piece, const char *name, const char *spool_dir)
{
    struct stat st;

    piece->name = strdup(name);
    piece->fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (!piece->name || piece->fd < 0 || fstat(piece->fd, &st)) {
        log_error("%s: cannot open: %s", name, strerror(errno));
        return -1;
    }
    if (S_ISDIR(st.st_mode)) {
        log_error("%s: is a directory", name);
        return -1;
    }
    if (!S_ISREG(st.st_mode) || lseek(piece->fd, 0, SEEK_CUR) != 0)
        return spool(piece, spool_dir);
    piece->bytes = (uint64_t)st.st_size;
    return 0;
}

int input_open(struct input *input, char *const *names, unsigned int count,
               const char *spool_dir)
{
    *input = (struct input){ .piece = calloc(count, sizeof(struct piece)) };
    if (!input->piece) {
        log_error("no memory");
        return -1;
    }
    for (; input->pieces < count; input->pieces++) {
        struct piece *piece = &input->piece[input->pieces];

        piece->fd = -1;
        piece->start = input->bytes;
        if (open_piece(piece, names[input->pieces], spool_dir)) {
            input->pieces++;
            input_close(input);
            return -1;
        }
        input->bytes += piece->bytes;
    }
    return 0;
}

const struct piece *input_piece(const struct input *input, uint64_t pos)
{
    unsigned int i = input->pieces;

    while (i > 1 && input->piece[i - 1].start > pos)
        i--;
    return &input->piece[i - 1];
}

int64_t input_read(const struct input *input, uint64_t pos, void *buffer, size_t size)
{
    char *out = buffer;
    size_t done = 0;

    while (done < size && pos < input->bytes) {
        const struct piece *piece = input_piece(input, pos);
        uint64_t left = piece->start + piece->bytes - pos;
        size_t want = size - done < left ? size - done : (size_t)left;
        ssize_t n = pread(piece->fd, out + done, want, (off_t)(pos - piece->start));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            log_error("%s: read error at byte %llu: %s", piece->name,
                      (unsigned long long)(pos - piece->start),
                      n ? strerror(errno) : "the file has become shorter");
            return -1;
        }
        done += (size_t)n;
        pos += (uint64_t)n;
    }
    return (int64_t)done;
}

void input_close(struct input *input)
{
    unsigned int i;

    for (i = 0; i < input->pieces; i++) {
        free(input->piece[i].name);
        if (input->piece[i].fd >= 0)
            close(input->piece[i].fd);
    }
    free(input->piece);
    *input = (struct input){ 0 };
}

int reader_init(struct reader *reader, const struct input *input, size_t size)
{
    *reader = (struct reader){ .input = input, .size = size, .buffer = malloc(size) };
    return reader->buffer ? 0 : -1;
}

const unsigned char *reader_at(struct reader *reader, uint64_t pos, size_t want, size_t *got)
{
    uint64_t end = reader->start + reader->filled;

    if (pos < reader->start || pos + want > end) {
        int64_t n;

        if (pos >= reader->start && end == reader->input->bytes && pos <= end) {
            *got = (size_t)(end - pos);
            return reader->buffer + (pos - reader->start);
        }
        n = input_read(reader->input, pos, reader->buffer, reader->size);
        if (n < 0) {
            reader->failed = 1;
            n = 0;
        }
        reader->start = pos;
        reader->filled = (size_t)n;
    }
    *got = (size_t)(reader->start + reader->filled - pos);
    return reader->buffer + (pos - reader->start);
}

void reader_release(struct reader *reader)
{
    free(reader->buffer);
    reader->buffer = NULL;
}
