/* SPDX-License-Identifier: GPL-2.0-only */
/* derive.h - makes the derived tables of a database again. */
#ifndef XENFLUSH_DERIVE_H
#define XENFLUSH_DERIVE_H

/*
 * Drops and makes again what is derived, in one transaction.  Returns 0, or -1
 * after a message; the database is then as before.
 */
int derive_again(const char *path);

#endif
