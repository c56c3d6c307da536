/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * map.h - a hash map from 32-bit ids (CPUs, cur) to pointers.
 *
 * Ids in a trace are sparse and may be large: memory follows the ids seen.
 * The map does not own what it points to.  map_init() needs no memory;
 * map_release() frees the map.
 */
#ifndef XENFLUSH_MAP_H
#define XENFLUSH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint32_t key;
    void *value;            /* NULL: the slot is free */
};

struct map {
    struct map_slot *slot;
    size_t size;            /* slots, a power of two, or 0 */
    size_t count;           /* slots in use */
};

#define MAP_INIT { NULL, 0, 0 }

void *map_get(const struct map *map, uint32_t key);     /* NULL: not there */
int map_put(struct map *map, uint32_t key, void *value);/* 0, or -1: no memory */
void map_release(struct map *map);

#endif
