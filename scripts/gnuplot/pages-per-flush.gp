# SPDX-License-Identifier: GPL-2.0-only
# Flushes by the number of pages they serve: a peak at 1 is no batching, one at
# 32 is full batches.
set xlabel 'pages served by one flush'
y_name = 'flushes'
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
stats $data using c_pages name 'P' nooutput
stats $data using c_tlb_flushes name 'T' nooutput
stats $data using c_iotlb_flushes name 'I' nooutput
most = T_max > I_max ? T_max : I_max
right = P_max < 32 ? 33.5 : P_max + 1.5
set xrange [0:right]
set xtics out
if (right < 40) { set xtics 4 ; set xtics add (1) }
set boxwidth 0.4
set key top center
if (most > 50) { set logscale y; set yrange [0.5:most * 3] } else { set yrange [0:most * 1.25] }
count(c) = column(c) > 0 ? column(c) : NaN
plot $data using (column(c_pages) - 0.2):(count(c_iotlb_flushes)) with boxes linecolor rgb blue title 'IOTLB flushes', \
     $data using (column(c_pages) + 0.2):(count(c_tlb_flushes)) with boxes linecolor rgb orange title 'guest TLB flushes'
