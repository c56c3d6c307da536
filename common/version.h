/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef XENFLUSH_VERSION_H
#define XENFLUSH_VERSION_H
#define XENFLUSH_VERSION "0.1.0"
#endif
