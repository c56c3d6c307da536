/* SPDX-License-Identifier: GPL-2.0-only */
/* Segment lists: order is kept over the temporary file, for lists that interleave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "segments.h"

#define LISTS 3

static void interleaved(void **state)
{
    /* None, less than a block, whole blocks, and one more than that. */
    static const uint32_t sizes[] = { 0, 1, 15, 16, 17, 32, 1000 };
    struct segment_file file = { .directory = ".", .fd = -1 };
    size_t s;

    (void)state;
    for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct segment_list list[LISTS] = { { 0 } };
        struct segment found;
        uint32_t i, l;

        for (i = 0; i < sizes[s]; i++)
            for (l = 0; l < LISTS; l++) {
                struct segment segment = { .start = i * 100 + l, .bytes = i + 1, .gap = i & 1 };

                assert_int_equal(segments_add(&file, &list[l], segment), 0);
            }
        for (l = 0; l < LISTS; l++) {
            struct segment_cursor cursor = { .list = &list[l] };

            for (i = 0; i < sizes[s]; i++) {
                assert_int_equal(segments_next(&file, &cursor, &found), 1);
                assert_int_equal(found.start, i * 100 + l);
                assert_int_equal(found.bytes, i + 1);
                assert_int_equal(found.gap, i & 1);
            }
            assert_int_equal(segments_next(&file, &cursor, &found), 0);
            free(cursor.loaded);
            segments_release(&list[l]);
        }
    }
    segments_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interleaved),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
