/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef XENFLUSH_CMD_IMPORT_H
#define XENFLUSH_CMD_IMPORT_H

/* `xenflush import`; argv[0] is "import".  Returns the exit status. */
int cmd_import(int argc, char **argv);

#endif
