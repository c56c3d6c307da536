# SPDX-License-Identifier: GPL-2.0-only
# Where the time of a page goes: medians of the parts and of the whole call, with
# whiskers to p90 (thick) and p99 (thin).  All begin at 0: medians do not add up.
stats $data using c_p99 name 'W' nooutput
scale = time_scale(W_max)
y_name = sprintf('time of an unmapped page (%s)', time_name(scale))
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
set xlabel 'bars: medians (of each part by itself); whiskers: p90 (thick) and p99 (thin)'
set xrange [0.4:5.6]
set xtics ('IOTLB flushes' 1, 'wait for IPI lock' 2, 'IPI answers' 3, 'rest of the call' 4, 'whole call' 5) out
if (is_text) { set xtics ('IOTLB' 1, 'IPI lock' 2, 'answers' 3, 'rest' 4, 'whole' 5); set xlabel 'bars: medians; lines up to p99' }
array P50[5]; array P90[5]; array P99[5]
do for [i = 1:5] {
    stats $data using c_p50 every ::(i-1)::(i-1) name 'V' nooutput; P50[i] = V_records ? V_max / scale : 0
    stats $data using c_p90 every ::(i-1)::(i-1) name 'V' nooutput; P90[i] = V_records ? V_max / scale : 0
    stats $data using c_p99 every ::(i-1)::(i-1) name 'V' nooutput; P99[i] = V_records ? V_max / scale : 0
}
top = 0
do for [i = 1:5] { if (P99[i] > top) { top = P99[i] } }
set yrange [0:top * 1.2]
unset key
array Colour[5] = [ blue, orange, red, grey, green ]
# Each number in the unit that suits it.
number(x) = sprintf(x * scale / time_scale(x * scale) < 100 ? '%.3g %s' : '%.0f %s', x * scale / time_scale(x * scale), time_name(time_scale(x * scale)))
half = is_text ? 0.2 : 0.3
plot for [i = 1:5] '+' using (i):(0):(i-half):(i+half):(0):(P50[i]) every ::0::0 with boxxyerror linecolor rgb Colour[i] notitle, \
     for [i = 1:5] '+' using (i):(P50[i]):(0):(P99[i]-P50[i]) every ::0::0 with vectors nohead linewidth 1 linecolor rgb 'black', \
     for [i = 1:5] '+' using (i):(P50[i]):(0):(P90[i]-P50[i]) every ::0::0 with vectors nohead linewidth (is_text ? 1 : 4) linecolor rgb 'black', \
     for [i = 1:5] '+' using (i):(P99[i]):('p99 '.number(P99[i])) every ::0::0 with labels offset 0,(is_text ? 1 : 1.9) textcolor rgb grey, \
     for [i = 1:5] '+' using (i):(P99[i]):('p50 '.number(P50[i])) every ::0::0 with labels offset 0,(is_text ? 2 : 0.8)
