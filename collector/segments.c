/* SPDX-License-Identifier: GPL-2.0-only */
/* segments.c - see segments.h. */
#include "segments.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "input.h"

#define BLOCK_BYTES (SEGMENTS_BLOCK * sizeof(struct segment))

static int write_block(struct segment_file *file, struct segment_list *list)
{
    const char *data = (const char *)list->tail;
    size_t done = 0;

    if (file->fd < 0) {
        file->fd = input_temporary(file->directory);
        if (file->fd < 0)
            return -1;
    }
    if (list->blocks == list->blocks_size) {
        uint32_t size = list->blocks_size ? list->blocks_size * 2 : 8;
        uint32_t *block = realloc(list->block, size * sizeof(*block));

        if (!block)
            return -1;
        list->block = block;
        list->blocks_size = size;
    }
    while (done < BLOCK_BYTES) {
        ssize_t n = pwrite(file->fd, data + done, BLOCK_BYTES - done,
                           (off_t)(file->blocks * BLOCK_BYTES + done));

        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    list->block[list->blocks++] = file->blocks++;
    list->tail_count = 0;
    return 0;
}

int segments_add(struct segment_file *file, struct segment_list *list, struct segment segment)
{
    if (list->tail_count == SEGMENTS_BLOCK && write_block(file, list))
        return -1;
    if (list->tail_count == list->tail_size) {
        uint32_t size = list->tail_size ? list->tail_size * 2 : 4;
        struct segment *tail = realloc(list->tail, size * sizeof(*tail));

        if (!tail)
            return -1;
        list->tail = tail;
        list->tail_size = size;
    }
    list->tail[list->tail_count++] = segment;
    return 0;
}

static int read_block(const struct segment_file *file, struct segment_cursor *cursor)
{
    uint32_t number = cursor->list->block[cursor->block++];
    size_t done = 0;

    if (!cursor->loaded) {
        cursor->loaded = malloc(BLOCK_BYTES);
        if (!cursor->loaded)
            return -1;
    }
    while (done < BLOCK_BYTES) {
        ssize_t n = pread(file->fd, (char *)cursor->loaded + done, BLOCK_BYTES - done,
                          (off_t)(number * BLOCK_BYTES + done));

        if (n == 0)
            errno = EIO;
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    cursor->index = 0;
    return 0;
}

int segments_next(const struct segment_file *file, struct segment_cursor *cursor,
                  struct segment *out)
{
    if (!cursor->in_tail) {
        if ((!cursor->loaded || cursor->index == SEGMENTS_BLOCK) &&
            cursor->block < cursor->list->blocks && read_block(file, cursor))
            return -1;
        if (cursor->loaded && cursor->index < SEGMENTS_BLOCK) {
            *out = cursor->loaded[cursor->index++];
            return 1;
        }
        free(cursor->loaded);
        cursor->loaded = NULL;
        cursor->in_tail = true;
        cursor->index = 0;
    }
    if (cursor->index == cursor->list->tail_count)
        return 0;
    *out = cursor->list->tail[cursor->index++];
    return 1;
}

void segments_release(struct segment_list *list)
{
    free(list->tail);
    free(list->block);
    *list = (struct segment_list){ 0 };
}

void segments_close(struct segment_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
