// SPDX-License-Identifier: GPL-2.0-only
/*
 * labtool - what the lab's machines need and busybox lacks.
 *
 *   labtool send IP PORT SECONDS   bulk TCP data
 *   labtool receive PORT           takes one connection to its end
 *   labtool put FILE BAR           FILE into the memory of a PCI device
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 128 * 1024,
    BAR_DATA = 4096,            // where the file begins in the BAR
    CONNECT_TRIES = 100,
};

#define BAR_MAGIC 0x54554f42414c5358ULL     // "XSLABOUT" in memory

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sockaddr_in address(const char *ip, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    a.sin_addr.s_addr = ip ? inet_addr(ip) : htonl(INADDR_ANY);
    return a;
}

static void tell(const char *what, uint64_t bytes, double seconds)
{
    printf("%s %llu bytes in %.3f s, %.3f Mbit/s\n", what, (unsigned long long)bytes, seconds,
           (double)bytes * 8 / seconds / 1e6);
}

// The receiver may not listen yet.
static int connect_patiently(const struct sockaddr_in *to)
{
    for (int i = 0; i < CONNECT_TRIES; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);

        if (s < 0)
            err(1, "socket");
        if (connect(s, (const struct sockaddr *)to, sizeof(*to)) == 0)
            return s;
        close(s);
        usleep(200000);
    }
    err(1, "connect");
}

static int send_data(const char *ip, const char *port, double seconds)
{
    static char data[CHUNK];
    struct sockaddr_in to = address(ip, port);
    int s = connect_patiently(&to);
    double begin = now(), end = begin;
    uint64_t bytes = 0;

    memset(data, 0x5a, sizeof(data));
    while (end - begin < seconds) {
        ssize_t n = write(s, data, sizeof(data));

        if (n <= 0)
            err(1, "write");
        bytes += (uint64_t)n;
        end = now();
    }
    tell("sent", bytes, end - begin);
    close(s);
    return 0;
}

static int receive_data(const char *port)
{
    static char data[2 * CHUNK];
    struct sockaddr_in at = address(NULL, port);
    int l = socket(AF_INET, SOCK_STREAM, 0), on = 1, s;
    uint64_t bytes = 0;
    double begin;
    ssize_t n;

    setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(l, (struct sockaddr *)&at, sizeof(at)) || listen(l, 1))
        err(1, "port %s", port);
    s = accept(l, NULL, NULL);
    if (s < 0)
        err(1, "accept");
    begin = now();
    while ((n = read(s, data, sizeof(data))) > 0)
        bytes += (uint64_t)n;
    tell("received", bytes, now() - begin);
    return 0;
}

/*
 * The magic goes last: the host takes the file for complete when it sees it.
 * Whole 64-bit words, because each access to the BAR leaves the emulated CPU.
 */
static int put_file(const char *file, const char *bar)
{
    static uint64_t block[CHUNK / sizeof(uint64_t)];
    int from = open(file, O_RDONLY), to = open(bar, O_RDWR);
    struct stat source, target;
    volatile uint64_t *memory;
    size_t word = BAR_DATA / sizeof(uint64_t);
    ssize_t n;

    if (from < 0 || to < 0 || fstat(from, &source) || fstat(to, &target))
        err(1, "%s, %s", file, bar);
    if (source.st_size + BAR_DATA > target.st_size)
        errx(1, "%s: %lld bytes do not fit into %lld", file, (long long)source.st_size,
             (long long)target.st_size);
    memory = mmap(NULL, (size_t)target.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    if (memory == MAP_FAILED)
        err(1, "%s", bar);

    while ((n = read(from, block, sizeof(block))) > 0)
        for (size_t i = 0; i < ((size_t)n + 7) / 8; i++)
            memory[word++] = block[i];
    memory[1] = (uint64_t)source.st_size;
    __sync_synchronize();
    memory[0] = BAR_MAGIC;
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_data(argv[2], argv[3], atof(argv[4]));
    if (argc == 3 && strcmp(argv[1], "receive") == 0)
        return receive_data(argv[2]);
    if (argc == 4 && strcmp(argv[1], "put") == 0)
        return put_file(argv[2], argv[3]);
    fprintf(stderr, "usage: labtool send IP PORT SECONDS | receive PORT | put FILE BAR\n");
    return 2;
}
