/* SPDX-License-Identifier: GPL-2.0-only */
/* map.c - open addressing with linear probing, at most three quarters full. */
#include "map.h"

#include <stdlib.h>

static size_t home_of(uint32_t key, size_t size)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (size - 1);
}

static struct map_slot *find_slot(struct map_slot *slot, size_t size, uint32_t key)
{
    size_t i = home_of(key, size);

    while (slot[i].value && slot[i].key != key)
        i = (i + 1) & (size - 1);
    return &slot[i];
}

void *map_get(const struct map *map, uint32_t key)
{
    return map->size ? find_slot(map->slot, map->size, key)->value : NULL;
}

static int grow(struct map *map)
{
    size_t size = map->size ? map->size * 2 : 16, i;
    struct map_slot *slot = calloc(size, sizeof(*slot));

    if (!slot)
        return -1;
    for (i = 0; i < map->size; i++)
        if (map->slot[i].value)
            *find_slot(slot, size, map->slot[i].key) = map->slot[i];
    free(map->slot);
    map->slot = slot;
    map->size = size;
    return 0;
}

int map_put(struct map *map, uint32_t key, void *value)
{
    struct map_slot *slot;

    if ((map->count + 1) * 4 > map->size * 3 && grow(map))
        return -1;
    slot = find_slot(map->slot, map->size, key);
    if (!slot->value)
        map->count++;
    slot->key = key;
    slot->value = value;
    return 0;
}

void map_release(struct map *map)
{
    free(map->slot);
    *map = (struct map)MAP_INIT;
}
