/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * place.c - finding the files that belong to this program; see place.h.
 */
#include "place.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool place_find(const char *const *relative, char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;
    size_t i;

    if (length <= 0)
        return false;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (i = 0; relative[i]; i++) {
        int n = snprintf(path, size, "%s/%s", self, relative[i]);

        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return true;
    }
    return false;
}
