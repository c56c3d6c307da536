/* SPDX-License-Identifier: GPL-2.0-only */
/* events.c - the table of flush records; see events.h. */
#include "events.h"

#include "trace_flush.h"

#define BITS(name, word, shift, bits, meaning) \
    { name, XF_BITS, word, shift, bits, meaning }
#define SIGNED(name, word, bits, meaning) \
    { name, XF_SIGNED, word, 0, bits, meaning }
#define U64(name, word, meaning)   { name, XF_U64, word, 0, 64, meaning }
#define FRAME(name, word, meaning) { name, XF_FRAME, word, 0, 64, meaning }

#define TARGET BITS("target", 1, 16, 16, "domain whose translations are flushed")
#define CYCLES(word) \
    BITS("cycles", word, 0, 32, "TSC cycles; 4294967295: that or more, or unknown")
#define IOMMU_FLAGS(meaning) BITS("flags", 1, 0, 8, meaning)

static const struct xf_column batch_begin[] = {
    BITS("ops", 1, 0, 32, "operations in this group"),
};

static const struct xf_column batch_end[] = {
    IOMMU_FLAGS("gathered from the skipped flushes: 1 added, 2 modified, 4 all"),
    BITS("tlb_deferred", 1, 8, 1, "1: a guest TLB flush was deferred"),
    BITS("pages", 1, 16, 16, "pages whose removal succeeded"),
    SIGNED("rc", 2, 32, "result of the closing IOTLB flush, negative errno"),
    FRAME("gfn_low", 3, "lowest gfn; NULL: no page"),
    FRAME("gfn_high", 5, "highest gfn; 0 where gfn_low is NULL"),
};

static const struct xf_column iotlb_flush[] = {
    TARGET,
    IOMMU_FLAGS("1 added, 2 modified, 4 all"),
    BITS("whole", 1, 15, 1, "1: the whole domain"),
    FRAME("dfn", 2, "first dfn"),
    BITS("pages", 4, 0, 32, "pages asked for; saturates at 4294967295"),
    SIGNED("rc", 5, 32, "0, or a negative errno"),
    CYCLES(6),
};

static const struct xf_column iommu_invalidate[] = {
    BITS("hw_domain", 1, 16, 16, "the IOMMU's own domain id, not a domid"),
    BITS("mask_order", 1, 8, 8, "address mask order: 2^order pages"),
    BITS("granularity", 1, 0, 8, "0 none, 1 global, 2 domain, 3 pages"),
    BITS("iommu", 2, 0, 32, "index of the IOMMU; AMD: its PCI address"),
    FRAME("dfn", 3, "as sent: align down to the order; only for granularity 3"),
    SIGNED("rc", 5, 32, "0, or a negative errno"),
    CYCLES(6),
};

static const struct xf_column tlb_flush[] = {
    TARGET,
    BITS("kind", 1, 0, 8, "1 EPT, 2 NPT, 3 shadow, 4 PV, 5 filtered by time stamp"),
    BITS("local_cpu", 1, 8, 1, "1: the sender's own CPU is in the mask"),
    BITS("cpus", 2, 0, 32, "CPUs in the mask, counted before sending"),
    CYCLES(3),
};

static const struct xf_column ipi_round[] = {
    BITS("vector", 1, 24, 8, "interrupt vector"),
    BITS("flags", 1, 0, 24, "Xen's FLUSH_* bits; 0: a call-function round"),
    BITS("targets", 2, 0, 32, "CPUs targeted"),
    BITS("lock_cycles", 3, 0, 32, "TSC cycles waiting for the lock"),
    BITS("ack_cycles", 4, 0, 32, "TSC cycles from sending to the last answer"),
    U64("address", 5, "virtual address; from 2^63 on negative"),
};

static const struct xf_column assisted_flush[] = {
    BITS("vcpus", 1, 16, 16, "vCPUs flushed"),
    BITS("cpus", 1, 0, 16, "physical CPUs interrupted"),
    CYCLES(2),
};

static const struct xf_column l0_flush[] = {
    BITS("flags", 1, 0, 32, "Xen's FLUSH_* bits"),
    SIGNED("rc", 2, 32, "0, or a negative errno"),
    CYCLES(3),
};

static const struct xf_column cache_flush[] = {
    TARGET,
    BITS("kind", 1, 0, 8, "1 WBINVD, 2 line flush, 3 line write-back"),
    BITS("bytes", 2, 0, 32, "0: the whole cache"),
    BITS("cpus", 3, 0, 32, "CPUs"),
    CYCLES(4),
};

static const struct xf_column p2m_table_free[] = {
    TARGET,
    BITS("pending", 1, 0, 1, "1: a flush is still pending"),
    FRAME("mfn", 2, "the freed page"),
};

static const struct xf_column skip_window[] = {
    BITS("change", 1, 0, 32, "1 open, 2 close, 3 suspend, 4 resume"),
    BITS("site", 2, 0, 32, "2 add to physmap, 3 page removal, 0 other"),
};

static const struct xf_column unmap_call[] = {
    BITS("asked", 1, 0, 32, "operations asked for"),
    BITS("done", 2, 0, 32, "operations done"),
    SIGNED("rc", 3, 32, "0, or a negative errno"),
    CYCLES(4),
};

static const struct xf_column grant_copy[] = {
    BITS("done", 1, 0, 32, "operations done"),
    BITS("bytes", 2, 0, 32, "bytes copied"),
};

static const struct xf_column iotlb_skipped[] = {
    TARGET,
    BITS("site", 1, 8, 8, "1 legacy map, 2 legacy unmap, 3 shared EPT"),
    IOMMU_FLAGS("flags it would have used; 0: nothing was pending"),
    FRAME("dfn", 2, "first dfn"),
    BITS("pages", 4, 0, 32, "pages"),
};

static const struct xf_column tlb_deferred[] = {
    TARGET,
    BITS("kind", 1, 0, 8, "1 EPT, 2 NPT, 3 shadow, 4 PV, 5 filtered by time stamp"),
    FRAME("gfn", 2, "guest frame"),
    BITS("page_order", 4, 0, 32, "2^order pages"),
};

static const struct xf_column page_released[] = {
    BITS("granter", 1, 16, 16, "domain that granted the page"),
    SIGNED("status", 1, 16, "status of the operation"),
    FRAME("gfn", 2, "frame in the mapper (PV: virtual page number)"),
    FRAME("mfn", 4, "machine frame"),
    BITS("site", 6, 0, 8, "1 grant unmap, 2 add to physmap, 3 page removal"),
    BITS("tlb_needed", 6, 8, 1, "1: its guest TLB half needed a flush"),
    BITS("iotlb_needed", 6, 9, 1, "1: its IOTLB half needed a flush"),
    BITS("device", 6, 10, 1, "1: it was a device mapping"),
};

static const struct xf_column iommu_writeback[] = {
    TARGET,
    BITS("bytes", 2, 0, 32, "bytes written back"),
    BITS("changed", 3, 0, 32, "bytes changed"),
    CYCLES(4),
};

#define EVENT(id, event_number, extra_words, event_name, columns_of, about) \
    [id] = { event_number, extra_words, \
             sizeof(columns_of) / sizeof(columns_of[0]), \
             event_name, #columns_of, about, columns_of }

/* IOTLB_ADDED has the words of IOTLB_FLUSH and a table of its own. */
#define ADDED_EVENT \
    [XF_IOTLB_ADDED] = { TRC_FLUSH_IOTLB_ADDED, 7, \
                         sizeof(iotlb_flush) / sizeof(iotlb_flush[0]), \
                         "IOTLB_ADDED", "iotlb_added", \
                         "an IOTLB flush for a page that was mapped; most hardware " \
                         "needs no command for it", iotlb_flush }

const struct xf_event xf_events[XF_EVENTS] = {
    EVENT(XF_BATCH_BEGIN, TRC_FLUSH_BATCH_BEGIN, 2, "BATCH_BEGIN", batch_begin,
          "a group of at most 32 unmaps begins"),
    EVENT(XF_BATCH_END, TRC_FLUSH_BATCH_END, 7, "BATCH_END", batch_end,
          "the group ends, its closing flushes are done"),
    EVENT(XF_IOTLB_FLUSH, TRC_FLUSH_IOTLB, 7, "IOTLB_FLUSH", iotlb_flush,
          "an IOTLB flush has completed"),
    EVENT(XF_IOMMU_INVALIDATE, TRC_FLUSH_IOMMU_INVALIDATE, 7, "IOMMU_INVALIDATE",
          iommu_invalidate, "the command that really went to one IOMMU"),
    EVENT(XF_TLB_FLUSH, TRC_FLUSH_TLB, 4, "TLB_FLUSH", tlb_flush,
          "the guest TLBs of a domain were flushed"),
    EVENT(XF_IPI_ROUND, TRC_FLUSH_IPI_ROUND, 7, "IPI_ROUND", ipi_round,
          "flush IPIs were sent and all targets have answered"),
    EVENT(XF_ASSISTED_FLUSH, TRC_FLUSH_ASSISTED, 3, "ASSISTED_FLUSH", assisted_flush,
          "a guest asked for a flush (HVMOP_flush_tlbs, Viridian)"),
    EVENT(XF_L0_FLUSH, TRC_FLUSH_L0, 4, "L0_FLUSH", l0_flush,
          "Xen as a guest asked the hypervisor below for a flush"),
    EVENT(XF_CACHE_FLUSH, TRC_FLUSH_CACHE, 5, "CACHE_FLUSH", cache_flush,
          "CPU caches were flushed or written back"),
    EVENT(XF_P2M_TABLE_FREE, TRC_FLUSH_P2M_TABLE_FREE, 4, "P2M_TABLE_FREE",
          p2m_table_free, "a page of p2m tables is freed"),
    EVENT(XF_SKIP_WINDOW, TRC_FLUSH_SKIP_WINDOW, 3, "SKIP_WINDOW", skip_window,
          "iommu_dont_flush_iotlb changes outside grant unmaps"),
    EVENT(XF_UNMAP_CALL, TRC_FLUSH_UNMAP_CALL, 5, "UNMAP_CALL", unmap_call,
          "GNTTABOP_unmap_grant_ref returns or is preempted"),
    EVENT(XF_GRANT_COPY, TRC_FLUSH_GRANT_COPY, 3, "GRANT_COPY", grant_copy,
          "one GNTTABOP_copy call"),
    EVENT(XF_IOTLB_SKIPPED, TRC_FLUSH_IOTLB_SKIPPED, 5, "IOTLB_SKIPPED", iotlb_skipped,
          "an IOTLB flush was not issued because of iommu_dont_flush_iotlb"),
    EVENT(XF_TLB_DEFERRED, TRC_FLUSH_TLB_DEFERRED, 5, "TLB_DEFERRED", tlb_deferred,
          "a guest TLB flush was put off to the end of the group"),
    EVENT(XF_PAGE_RELEASED, TRC_FLUSH_PAGE_RELEASED, 7, "PAGE_RELEASED", page_released,
          "the reference to an unmapped page is dropped"),
    ADDED_EVENT,
    EVENT(XF_IOMMU_WRITEBACK, TRC_FLUSH_IOMMU_WRITEBACK, 5, "IOMMU_WRITEBACK",
          iommu_writeback, "IOMMU page tables were written back"),
};

const struct xf_event *xf_event_find(uint32_t number, unsigned int words)
{
    uint32_t minor = number & 0xfff;
    const struct xf_event *event;

    if (minor == 0)
        return NULL;
    if ((number & ~0xfffU) == TRC_HW_FLUSH && minor <= XF_GRANT_COPY + 1)
        event = &xf_events[minor - 1];
    else if ((number & ~0xfffU) == TRC_HW_FLUSH_PAGE &&
             minor <= XF_IOMMU_WRITEBACK - XF_GRANT_COPY)
        event = &xf_events[XF_GRANT_COPY + minor];
    else
        return NULL;
    return event->number == number && event->words == words ? event : NULL;
}

void xf_column_store(const struct xf_column *column, bool null, int64_t value,
                     uint32_t *word)
{
    uint32_t mask;

    if (column->kind >= XF_U64) {
        uint64_t wide = null ? UINT64_MAX : (uint64_t)value;

        word[column->word] = (uint32_t)wide;
        word[column->word + 1] = (uint32_t)(wide >> 32);
        return;
    }
    mask = UINT32_MAX >> (32 - column->bits) << column->shift;
    word[column->word] &= ~mask;
    if (!null)
        word[column->word] |= (uint32_t)value << column->shift & mask;
}
