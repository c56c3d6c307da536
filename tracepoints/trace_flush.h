/* SPDX-License-Identifier: MIT */
/*
 * trace_flush.h - records of TLB, IOTLB and cache flushes in Xen's trace
 * buffers, layout 1.
 *
 * This file is the contract between the hypervisor and every reader of its
 * traces.  The same file goes into a Xen tree and into the collector, so it
 * needs nothing but ANSI C and includes nothing.
 *
 * How a record is laid out
 *   One header word, the TSC in two words, then 1 to 7 extra words of 32 bits.
 *   Every word is initialised, nothing is a bit-field, and a 64-bit value is
 *   two words, low word first.  All of these records carry the TSC.
 *
 * How the layout changes
 *   It does not.  A changed record gets a new event number.  A reader keeps a
 *   record of these subclasses whose number or word count it does not know as
 *   it is, counts it, and never guesses.
 *
 * Conventions
 *   cur     word 0 of each record: the domain and vCPU that was `current` when
 *           the record was written, (domid << 16) | vcpu.  It may be the idle
 *           domain or another system domain.  A batch of unmaps belongs to a
 *           vCPU and may change its physical CPU, so records are paired by
 *           cur, not by the buffer they came from.
 *   cycles  TSC cycles.  TRC_FLUSH_CYCLES_MAX means that many or more, or
 *           unknown.  The clock is read before the record is stamped, so the
 *           stamp minus the cycles is the latest moment of the beginning.
 *   pages   saturates at TRC_FLUSH_PAGES_MAX.
 *   rc      a signed 32-bit value in the manner of errno.
 *   target  the domain whose translations are flushed, domid << 16;
 *           TRC_FLUSH_NO_DOMAIN where there is none.
 */
#ifndef XEN_PUBLIC_TRACE_FLUSH_H
#define XEN_PUBLIC_TRACE_FLUSH_H

/*
 * Two subclasses of TRC_HW (0x0080f000).  The first is cheap enough to stay on
 * in production, the second writes one record a page.  Xen selects class and
 * subclass bits independently, so a mask of several classes selects more than
 * it says: readers filter again.
 */
#define TRC_HW_FLUSH            0x00804000U
#define TRC_HW_FLUSH_PAGE       0x00808000U

/* TRC_HW_FLUSH; w0 is always cur. */

/* A group of unmaps begins.  w1: operations in the group. */
#define TRC_FLUSH_BATCH_BEGIN       (TRC_HW_FLUSH + 1)
/*
 * The group ends, its closing flushes are done.  w1: IOMMU_FLUSHF_* gathered
 * from skipped flushes, TRC_FLUSH_BATCH_TLB, pages removed << 16; w2: rc of
 * the closing IOTLB flush; w3,w4: lowest gfn; w5,w6: highest gfn.  Without any
 * page: ~0 and 0.
 */
#define TRC_FLUSH_BATCH_END         (TRC_HW_FLUSH + 2)
/*
 * An IOTLB flush has completed.  w1: target << 16, TRC_FLUSH_WHOLE,
 * TRC_FLUSH_IOMMU_*; w2,w3: first dfn; w4: pages asked for; w5: rc; w6: cycles.
 */
#define TRC_FLUSH_IOTLB             (TRC_HW_FLUSH + 3)
/*
 * The command that really went to one IOMMU.  w1: hardware domain id << 16
 * (not a domid), address mask order << 8, TRC_FLUSH_GRAN_*; w2: index of the
 * IOMMU (AMD: its PCI address); w3,w4: dfn as sent, to be aligned down to the
 * order, without meaning unless the granularity is pages; w5: rc; w6: cycles.
 */
#define TRC_FLUSH_IOMMU_INVALIDATE  (TRC_HW_FLUSH + 4)
/*
 * A domain's guest TLBs were flushed.  w1: target << 16, TRC_FLUSH_TLB_LOCAL,
 * TRC_FLUSH_KIND_*; w2: CPUs in the mask, counted before sending; w3: cycles
 * to completion (EPT: until all CPUs answered; INVEPT follows at VM entry).
 */
#define TRC_FLUSH_TLB               (TRC_HW_FLUSH + 5)
/*
 * One round of IPIs, written by the sender when all targets have answered.
 * w1: vector << 24, TRC_FLUSH_IPI_* (0 for a call-function round); w2: CPUs
 * targeted; w3: cycles waiting for the lock; w4: cycles from sending to the
 * last answer; w5,w6: address.
 */
#define TRC_FLUSH_IPI_ROUND         (TRC_HW_FLUSH + 6)
/*
 * A guest asked for the flush: HVMOP_flush_tlbs or a Viridian call.
 * w1: vCPUs flushed << 16, physical CPUs interrupted; w2: cycles.
 */
#define TRC_FLUSH_ASSISTED          (TRC_HW_FLUSH + 7)
/*
 * Xen, itself a guest, asked the hypervisor below.  w1: TRC_FLUSH_IPI_*;
 * w2: rc; w3: cycles.
 */
#define TRC_FLUSH_L0                (TRC_HW_FLUSH + 8)
/*
 * CPU caches.  w1: target << 16, TRC_FLUSH_CACHE_*; w2: bytes, 0 for the whole
 * cache; w3: CPUs; w4: cycles.
 */
#define TRC_FLUSH_CACHE             (TRC_HW_FLUSH + 9)
/*
 * A page of p2m tables is freed.  w1: target << 16, bit 0: a flush is still
 * pending, read after any flush forced before freeing; w2,w3: mfn.
 */
#define TRC_FLUSH_P2M_TABLE_FREE    (TRC_HW_FLUSH + 10)
/*
 * iommu_dont_flush_iotlb changes, other than for a group of grant unmaps.
 * w1: TRC_FLUSH_WINDOW_*; w2: TRC_FLUSH_SITE_*.
 */
#define TRC_FLUSH_SKIP_WINDOW       (TRC_HW_FLUSH + 11)
/*
 * One GNTTABOP_unmap_grant_ref returns or is preempted.  w1: operations asked
 * for; w2: operations done; w3: rc; w4: cycles.  rc 0 and fewer done than
 * asked: preempted; the next record of the same cur asks for the rest.
 */
#define TRC_FLUSH_UNMAP_CALL        (TRC_HW_FLUSH + 12)
/* One GNTTABOP_copy.  w1: operations done; w2: bytes. */
#define TRC_FLUSH_GRANT_COPY        (TRC_HW_FLUSH + 13)

/* TRC_HW_FLUSH_PAGE; w0 is always cur. */

/*
 * An IOTLB flush was not issued because of iommu_dont_flush_iotlb.
 * w1: target << 16, TRC_FLUSH_SKIP_* << 8, TRC_FLUSH_IOMMU_* it would have
 * used (0: nothing was pending); w2,w3: dfn; w4: pages.
 */
#define TRC_FLUSH_IOTLB_SKIPPED     (TRC_HW_FLUSH_PAGE + 1)
/*
 * A guest TLB flush was put off to the end of the group.  w1: target << 16,
 * TRC_FLUSH_KIND_*; w2,w3: gfn; w4: order.
 */
#define TRC_FLUSH_TLB_DEFERRED      (TRC_HW_FLUSH_PAGE + 2)
/*
 * The reference to an unmapped page is dropped.  w1: granting domain << 16,
 * status (signed, 16 bits); w2,w3: gfn of the mapper (PV: virtual page number);
 * w4,w5: mfn; w6: TRC_FLUSH_SITE_* and TRC_FLUSH_NEEDED_*.
 */
#define TRC_FLUSH_PAGE_RELEASED     (TRC_HW_FLUSH_PAGE + 3)
/* An IOTLB flush whose only flag is "added"; words as TRC_FLUSH_IOTLB. */
#define TRC_FLUSH_IOTLB_ADDED       (TRC_HW_FLUSH_PAGE + 4)
/*
 * IOMMU page tables were written back.  w1: target << 16; w2: bytes written
 * back; w3: bytes changed; w4: cycles.
 */
#define TRC_FLUSH_IOMMU_WRITEBACK   (TRC_HW_FLUSH_PAGE + 5)

/* Saturated or missing values. */
#define TRC_FLUSH_CYCLES_MAX    0xffffffffU
#define TRC_FLUSH_PAGES_MAX     0xffffffffU
#define TRC_FLUSH_NO_DOMAIN     0x7ff4U

/* IOMMU_FLUSHF_* as these records carry them. */
#define TRC_FLUSH_IOMMU_ADDED       0x01U
#define TRC_FLUSH_IOMMU_MODIFIED    0x02U
#define TRC_FLUSH_IOMMU_ALL         0x04U
#define TRC_FLUSH_IOMMU_MASK        0xffU
/* TRC_FLUSH_IOTLB and _IOTLB_ADDED, w1: the whole domain. */
#define TRC_FLUSH_WHOLE             0x8000U
/* TRC_FLUSH_BATCH_END, w1: a guest TLB flush was deferred. */
#define TRC_FLUSH_BATCH_TLB         0x0100U

/* Granularity of TRC_FLUSH_IOMMU_INVALIDATE. */
#define TRC_FLUSH_GRAN_NONE     0U
#define TRC_FLUSH_GRAN_GLOBAL   1U
#define TRC_FLUSH_GRAN_DOMAIN   2U
#define TRC_FLUSH_GRAN_PAGES    3U

/* Kind of a guest TLB flush. */
#define TRC_FLUSH_KIND_EPT      1U
#define TRC_FLUSH_KIND_NPT      2U
#define TRC_FLUSH_KIND_SHADOW   3U
#define TRC_FLUSH_KIND_PV       4U
#define TRC_FLUSH_KIND_FILTERED 5U
#define TRC_FLUSH_KIND_MASK     0xffU
/* TRC_FLUSH_TLB, w1: the local CPU is in the mask. */
#define TRC_FLUSH_TLB_LOCAL     0x0100U

/*
 * FLUSH_* as TRC_FLUSH_IPI_ROUND and TRC_FLUSH_L0 carry them.  The low byte is
 * 0 for the whole address space, else the order of the area plus 1.
 */
#define TRC_FLUSH_IPI_ORDER_MASK    0x0000ffU
#define TRC_FLUSH_IPI_TLB           0x000100U
#define TRC_FLUSH_IPI_TLB_GLOBAL    0x000200U
#define TRC_FLUSH_IPI_CACHE         0x000400U
#define TRC_FLUSH_IPI_VA_VALID      0x000800U
#define TRC_FLUSH_IPI_VCPU_STATE    0x001000U
#define TRC_FLUSH_IPI_ROOT_PGTBL    0x002000U
#define TRC_FLUSH_IPI_ASID_CORE     0x004000U
#define TRC_FLUSH_IPI_NO_ASSIST     0x008000U
#define TRC_FLUSH_IPI_CACHE_WB      0x010000U

/* Kind of a CPU cache flush. */
#define TRC_FLUSH_CACHE_WBINVD      1U
#define TRC_FLUSH_CACHE_LINE_FLUSH  2U
#define TRC_FLUSH_CACHE_LINE_WB     3U

/* Where an IOTLB flush was skipped. */
#define TRC_FLUSH_SKIP_LEGACY_MAP   1U
#define TRC_FLUSH_SKIP_LEGACY_UNMAP 2U
#define TRC_FLUSH_SKIP_SHARED_EPT   3U

/* How the skip window changes. */
#define TRC_FLUSH_WINDOW_OPEN       1U
#define TRC_FLUSH_WINDOW_CLOSE      2U
#define TRC_FLUSH_WINDOW_SUSPEND    3U
#define TRC_FLUSH_WINDOW_RESUME     4U

/*
 * Site of a skip window or a released page.  A skip window has no site 1: for
 * grant unmaps TRC_FLUSH_BATCH_BEGIN and _END stand for it.
 */
#define TRC_FLUSH_SITE_OTHER        0U
#define TRC_FLUSH_SITE_GRANT_UNMAP  1U
#define TRC_FLUSH_SITE_ADD_PHYSMAP  2U
#define TRC_FLUSH_SITE_REMOVE_PAGE  3U
#define TRC_FLUSH_SITE_MASK         0xffU
/* TRC_FLUSH_PAGE_RELEASED, w6: what the page needed before it was released. */
#define TRC_FLUSH_NEEDED_TLB        0x0100U
#define TRC_FLUSH_NEEDED_IOTLB      0x0200U
#define TRC_FLUSH_DEVICE_MAPPING    0x0400U

#endif /* XEN_PUBLIC_TRACE_FLUSH_H */
