/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * headline.h - the counts that answer: is batching in effect, and what does
 * it save?  The definitions are those of docs and of schema.sql.
 */
#ifndef XENFLUSH_HEADLINE_H
#define XENFLUSH_HEADLINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "db.h"
#include "notes.h"

/*
 * SQL, with a link table as l: a flush is inside an unmap call when its batch
 * is whole or its UNMAP_CALL was seen.
 */
#define FLUSH_OWNERS \
    " LEFT JOIN batch b ON b.batch = l.batch LEFT JOIN logical_call c ON c.call = l.call"
#define FLUSH_INSIDE "(b.state = 0 OR c.parts > 0)"

/* Counts of one domain, or of all.  Ratios are kept as their two parts. */
struct counts {
    int64_t dom;
    int64_t operations;     /* done by unmap calls */
    int64_t calls;          /* logical calls */
    int64_t vcpus;          /* vCPUs that unmapped; of one domain */
    int64_t pages;          /* pages unmapped: of batches, and operations outside */
    int64_t batches;        /* complete ones */
    int64_t batch_pages;    /* of complete batches */
    int64_t iotlb_all, iotlb_performed, iotlb_avoided;
    int64_t tlb_all, tlb_performed, tlb_avoided;
    int64_t ipi_rounds, ipi_targets;
    int64_t asked_pages, asked_batch_pages;     /* overflush */
    int64_t hw_pages, hw_batch_pages;           /* hw_overflush */
    int64_t copies, copy_bytes;                 /* GNTTABOP_copy */
};

struct headline {
    struct counts all;
    struct counts *domain;  /* in order of their number */
    size_t domains;
    size_t size;
    int64_t lost;           /* records */
    bool no_iotlb;          /* no IOTLB flush was wanted anywhere */
    struct notes notes;
};

/* Reads all; false: a database error was logged. */
bool headline_read(struct db *db, struct headline *headline);
void headline_release(struct headline *headline);

double counts_ratio(int64_t numerator, int64_t denominator);   /* by 0: NaN */

void headline_json(const struct headline *headline, FILE *out);
void headline_text(struct db *db, const struct headline *headline, FILE *out);

#endif
