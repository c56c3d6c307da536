/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * place.h - finding the files that belong to this program.
 */
#ifndef XENFLUSH_PLACE_H
#define XENFLUSH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The first of these paths, relative to the directory of this program, that
 * exists; a NULL ends the list.  False: none does.
 */
bool place_find(const char *const *relative, char *path, size_t size);

#endif
