/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h - the one table of flush records.
 *
 * Everything that needs to know a record looks it up here: the decoder (which
 * words make which column), the importer (which table a record goes to), the
 * generated part of schema.sql (names and meanings), and messages (names).
 * To add an event: number it in tracepoints/trace_flush.h, describe it in
 * events.c, run `make schema`.
 */
#ifndef XENFLUSH_EVENTS_H
#define XENFLUSH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XF_MAX_WORDS 7

/* How a column's value is taken out of the words of a record. */
enum xf_column_kind {
    XF_BITS,        /* `bits` bits of `word` from bit `shift` on */
    XF_SIGNED,      /* the same, as a two's complement number */
    XF_U64,         /* words `word` (low) and `word` + 1; from 2^63 on negative */
    XF_FRAME,       /* as XF_U64, but all ones (an invalid frame) is NULL */
};

struct xf_column {
    const char *name;       /* name of the column */
    enum xf_column_kind kind;
    uint8_t word;           /* index among the extra words, 0 is cur */
    uint8_t shift;
    uint8_t bits;
    const char *meaning;    /* with unit; becomes the comment in schema.sql */
};

/* The order is that of the tables in schema.sql and indexes xf_events. */
enum xf_event_id {
    XF_BATCH_BEGIN,
    XF_BATCH_END,
    XF_IOTLB_FLUSH,
    XF_IOMMU_INVALIDATE,
    XF_TLB_FLUSH,
    XF_IPI_ROUND,
    XF_ASSISTED_FLUSH,
    XF_L0_FLUSH,
    XF_CACHE_FLUSH,
    XF_P2M_TABLE_FREE,
    XF_SKIP_WINDOW,
    XF_UNMAP_CALL,
    XF_GRANT_COPY,
    XF_IOTLB_SKIPPED,
    XF_TLB_DEFERRED,
    XF_PAGE_RELEASED,
    XF_IOTLB_ADDED,
    XF_IOMMU_WRITEBACK,
    XF_EVENTS
};

struct xf_event {
    uint32_t number;        /* event number in the record's header */
    uint8_t words;          /* extra words, cur included */
    uint8_t columns;        /* entries in `column` */
    const char *name;       /* as in records: upper case */
    const char *table;
    const char *meaning;
    const struct xf_column *column;
};

extern const struct xf_event xf_events[XF_EVENTS];

/* A decoded record of ours, still in words.  Times are relative to the trace's base. */
struct xf_record {
    uint64_t tsc;           /* TSC cycles since the smallest TSC of the trace */
    uint64_t pos;           /* byte offset of the header word in the trace */
    uint32_t cpu;           /* physical CPU */
    uint32_t word[XF_MAX_WORDS];
};

/* True for every event number in our two subclasses, known or not. */
static inline bool xf_event_is_ours(uint32_t number)
{
    uint32_t subclass = number & ~0xfffU;

    return subclass == 0x00804000U || subclass == 0x00808000U;
}

/*
 * The event of this number and word count, or NULL: then the record is not in
 * the contract and is kept raw.
 */
const struct xf_event *xf_event_find(uint32_t number, unsigned int words);

/* Value of a column.  False: the value is NULL. */
static inline bool xf_column_value(const struct xf_column *column,
                                   const uint32_t *word, int64_t *value)
{
    uint64_t wide;
    uint32_t narrow;

    if (column->kind >= XF_U64) {
        wide = (uint64_t)word[column->word + 1] << 32 | word[column->word];
        *value = (int64_t)wide;
        return column->kind == XF_U64 || wide != UINT64_MAX;
    }
    narrow = word[column->word] >> column->shift;
    if (column->kind == XF_BITS) {
        *value = narrow & (UINT32_MAX >> (32 - column->bits));
        return true;
    }
    narrow <<= 32 - column->bits;
    *value = (int32_t)narrow >> (32 - column->bits);
    return true;
}

/* The inverse: puts a column's value back into the words (NULL is all ones). */
void xf_column_store(const struct xf_column *column, bool null, int64_t value,
                     uint32_t *word);

/* The parts of cur, word 0. */
static inline uint32_t xf_cur_dom(uint32_t cur) { return cur >> 16; }
static inline uint32_t xf_cur_vcpu(uint32_t cur) { return cur & 0xffff; }

#endif
