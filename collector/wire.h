/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire.h - how a record of Xen's trace looks in memory and in a file.
 *
 *   header word: bits 0-27 event, 28-30 number of extra words, bit 31 TSC
 *   [TSC, two words, low first]
 *   extra words
 * All words are little endian.  An xentrace file is a row of windows: a
 * CPU_CHANGE record (untimed; CPU, bytes that follow) and that CPU's records.
 */
#ifndef XENFLUSH_WIRE_H
#define XENFLUSH_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_LOST_RECORDS   0x0001f001U
#define WIRE_WRAP_BUFFER    0x0001f002U
#define WIRE_CPU_CHANGE     0x0001f003U

#define WIRE_WINDOW_HEADER  (WIRE_CPU_CHANGE | 2U << 28)
#define WIRE_WINDOW_BYTES   12
#define WIRE_MAX_CPU        16383U
#define WIRE_MAX_RECORD     40      /* header, TSC, seven words */

static inline uint32_t wire_word(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t wire_tsc(const unsigned char *record)
{
    return wire_word(record + 4) | (uint64_t)wire_word(record + 8) << 32;
}

static inline uint32_t wire_event(uint32_t header) { return header & 0x0fffffff; }
static inline uint32_t wire_words(uint32_t header) { return header >> 28 & 7; }
static inline bool wire_timed(uint32_t header) { return header >> 31; }

/* Bytes of the whole record. */
static inline uint32_t wire_size(uint32_t header)
{
    return 4 + (wire_timed(header) ? 8 : 0) + 4 * wire_words(header);
}

/* Offset of the extra words. */
static inline uint32_t wire_extra(uint32_t header)
{
    return wire_timed(header) ? 12 : 4;
}

/* Could Xen have written this header word?  An event has exactly one class bit. */
static inline bool wire_plausible(uint32_t header)
{
    uint32_t class_bits = wire_event(header) >> 16;

    return class_bits && !(class_bits & (class_bits - 1)) &&
           wire_event(header) != WIRE_CPU_CHANGE;
}

#endif
