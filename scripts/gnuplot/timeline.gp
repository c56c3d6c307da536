# SPDX-License-Identifier: GPL-2.0-only
# Pages unmapped, and flushes performed and avoided, over time.
stats $data using c_end name 'E' nooutput
stats $data using c_start name 'S' nooutput
stats $data using c_pages name 'P' nooutput
stats $data using (column(c_tlb_performed) > column(c_iotlb_performed) ? column(c_tlb_performed) : column(c_iotlb_performed)) name 'F' nooutput
stats $data using (column(c_tlb_avoided) > column(c_iotlb_avoided) ? column(c_tlb_avoided) : column(c_iotlb_avoided)) name 'A' nooutput
stats $data using c_lost name 'L' nooutput
stats $data using c_iotlb_performed name 'I' nooutput
# Without any IOTLB flush there is no IOTLB half here, so nothing was avoided.
iotlb = I_max > 0
scale = time_scale(E_max)
width = (E_max - S_min) / S_records / scale
most = F_max > A_max ? F_max : A_max
middle(c) = (column(c_start) + column(c_end)) / 2 / scale
count(c) = column(c) > 0 ? column(c) : NaN
set xrange [S_min / scale:E_max / scale]
set xtics out
time_label = sprintf('time since the start of the trace (%s)', time_name(scale))
per = sprintf('%g %s', width, time_name(scale))
if (!is_text) {
    set multiplot
    set lmargin at screen 0.1; set rmargin at screen 0.97
    set tmargin at screen 0.92; set bmargin at screen 0.62
    set ylabel 'pages in '.per
    set yrange [0:(P_max > 0 ? P_max * (L_max > 0 ? 1.7 : 1.2) : 1)]
    set format x ''
    if (L_max > 0) { set key top right } else { unset key }
    plot $data using (middle(c_pages)):c_pages:(width) with boxes linecolor rgb sky title 'pages unmapped', \
         $data using (middle(c_pages)):(column(c_lost) > 0 ? P_max * 1.1 : NaN) with points pointtype 11 pointsize 0.9 linecolor rgb red title (L_max > 0 ? 'records lost' : '')
    unset title; set format x '%g'
    set tmargin at screen 0.56; set bmargin at screen 0.13
}
set xlabel time_label
y_name = 'flushes in '.per
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
set key top right horizontal
if (most > 50) { set logscale y; set yrange [0.7:most * (is_text ? 40 : 12)] } else { set yrange [0:(most > 0 ? most * 1.35 : 1)] }
plot $data using (middle(c_pages)):(iotlb ? count(c_iotlb_performed) : NaN) with linespoints pointtype 7 pointsize 0.7 linewidth 3 linecolor rgb blue title (iotlb ? 'IOTLB performed' : ''), \
     $data using (middle(c_pages)):(count(c_tlb_performed)) with linespoints pointtype 6 pointsize 1.1 linewidth (iotlb ? 1 : 3) linecolor rgb orange title 'TLB performed', \
     $data using (middle(c_pages)):(iotlb ? count(c_iotlb_avoided) : NaN) with linespoints pointtype 9 pointsize 0.7 linewidth 3 linecolor rgb green title (iotlb ? 'IOTLB avoided' : ''), \
     $data using (middle(c_pages)):(count(c_tlb_avoided)) with linespoints pointtype 8 pointsize 1.1 linewidth (iotlb ? 1 : 3) linecolor rgb purple title 'TLB avoided'
if (!is_text) { unset multiplot }
