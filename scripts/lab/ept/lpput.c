// SPDX-License-Identifier: GPL-2.0-only
/*
 * lpput FILE...: write files, one after another, to the first parallel port.
 *
 * Bochs takes a byte there when strobe rises, and appends it to a file of the host.
 * No interrupt, no baud rate: three port writes a byte. A PVH dom0 may access the
 * port without an exit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>

#define LP_DATA    0x378
#define LP_STATUS  0x379
#define LP_CONTROL 0x37a

#define CONTROL_IDLE   0x0c /* no reset, printer selected */
#define CONTROL_STROBE 0x0d

static void put(int byte)
{
    outb((unsigned char)byte, LP_DATA);
    outb(CONTROL_STROBE, LP_CONTROL);
    outb(CONTROL_IDLE, LP_CONTROL);
    (void)inb(LP_STATUS); /* takes the acknowledgement */
}

static int put_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    int byte;

    if (!file) {
        perror(path);
        return 1;
    }
    while ((byte = getc(file)) != EOF)
        put(byte);
    if (ferror(file)) {
        perror(path);
        fclose(file);
        return 1;
    }
    return fclose(file) ? 1 : 0;
}

int main(int argc, char **argv)
{
    int i, failed = 0;

    if (ioperm(LP_DATA, 3, 1)) {
        perror("lpput: ioperm");
        return 1;
    }
    outb(CONTROL_IDLE, LP_CONTROL);
    for (i = 1; i < argc; i++)
        failed |= put_file(argv[i]);
    return failed;
}
