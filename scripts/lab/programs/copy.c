/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy.c - calls of GNTTABOP_copy of known operations and bytes, from granted
 * pages of a test domain into pages of this program.  The bytes are compared, so a
 * call that did nothing cannot pass.
 */
#include "domain.h"
#include "paths.h"

#include <stdio.h>
#include <string.h>

#include <xen/grant_table.h>

enum { SOURCES = 4, MOST = 64 };

struct copies {
    struct domain granter;
    unsigned char *source[SOURCES];     /* the domain's pages, mapped here */
    unsigned char *target;              /* MOST pages */
    uint64_t target_gfn[MOST];
    struct gnttab_copy *ops;
};

static void prepare(struct copies *copies)
{
    unsigned int i;

    domain_create(&copies->granter, SOURCES, false);
    for (i = 0; i < SOURCES; i++) {
        copies->source[i] = domain_map(&copies->granter, i);
        memset(copies->source[i], (int)('A' + i), PAGE);
        domain_grant(&copies->granter, i, i, true);
    }
    copies->target = pages_alloc(MOST);
    for (i = 0; i < MOST; i++)
        copies->target_gfn[i] = page_gfn(copies->target + i * PAGE);
    copies->ops = pages_alloc((MOST * sizeof(*copies->ops) + PAGE - 1) / PAGE);
}

static void set_op(struct copies *copies, unsigned int i, unsigned int length)
{
    struct gnttab_copy *op = &copies->ops[i];

    memset(op, 0, sizeof(*op));
    op->source.u.ref = DOMAIN_FIRST_GRANT + i % SOURCES;
    op->source.domid = copies->granter.id;
    op->dest.u.gmfn = copies->target_gfn[i];
    op->dest.domid = DOMID_SELF;
    op->len = (uint16_t)length;
    op->flags = GNTCOPY_source_gref;
    op->status = 1;
}

/* Bytes that the copy of operation i has brought. */
static unsigned int arrived(const struct copies *copies, unsigned int i)
{
    const unsigned char *page = copies->target + i * PAGE;
    unsigned int n = 0;

    while (n < PAGE && page[n] == 'A' + i % SOURCES)
        n++;
    return n;
}

/*
 * `count` operations, the i-th of length + i * growth bytes; operation `bad`, if it
 * is one of them, has a grant reference that does not exist.
 */
static void copy(struct copies *copies, const char *name, unsigned int count, unsigned int length,
                 unsigned int growth, unsigned int bad)
{
    unsigned int i, good = 0, bytes = 0, wanted = 0;
    struct step step;
    long rc;

    memset(copies->target, 0, MOST * PAGE);
    for (i = 0; i < count; i++) {
        set_op(copies, i, length + i * growth);
        if (i == bad)
            copies->ops[i].source.u.ref = DOMAIN_GRANTS - 1;
        else
            wanted += length + i * growth;
    }
    step_begin(&step, name);
    rc = hypercall(__HYPERVISOR_grant_table_op, GNTTABOP_copy, address(copies->ops), count, 0);
    step_end(&step);
    for (i = 0; i < count; i++) {
        good += copies->ops[i].status == GNTST_okay;
        bytes += arrived(copies, i);
    }
    line_begin("copy", &step);
    field("asked=%u good=%u bytes=%u rc=%ld granter=%u", count, good, bytes, rc,
          copies->granter.id);
    line_end(&step);
    if (rc)
        differs(&step, "the call returned %ld", rc);
    if (good != count - (bad < count))
        differs(&step, "%u operations succeeded", good);
    if (bytes != wanted)
        differs(&step, "%u bytes arrived, not %u", bytes, wanted);
}

void path_copy(unsigned long argument)
{
    struct copies copies;
    unsigned int i;

    (void)argument;
    prepare(&copies);
    copy(&copies, "copy-1", 1, PAGE, 0, MOST);
    copy(&copies, "copy-17", 17, 100, 10, MOST);
    copy(&copies, "copy-64", MOST, 64, 1, MOST);
    copy(&copies, "copy-bad", 8, 512, 0, 3);
    for (i = 0; i < SOURCES; i++)
        domain_unmap(copies.source[i]);
    if (!domain_destroy(&copies.granter))
        die("pages of domain %u are still in use", copies.granter.id);
}
