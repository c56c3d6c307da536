# SPDX-License-Identifier: GPL-2.0-only
# Amplification: pages that the closing flush of a batch covers, for each page
# of the batch, by powers of two.
set xlabel 'pages flushed for each page unmapped (by powers of two)'
y_name = 'batches'
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
stats $data using (log(column(c_from)) / log(2)) name 'X' nooutput
stats $data using c_batches name 'B' nooutput
low = floor(X_min + 0.5); high = floor(X_max + 0.5)
set xrange [low - 0.7:high + 0.7]
set xtics out ()
step = is_text && high - low > 8 ? 3 : 1
label_of(power) = power >= 30 ? sprintf('%.0fG', 2.**(power-30)) : power >= 20 ? sprintf('%.0fM', 2.**(power-20)) : power >= 10 ? sprintf('%.0fk', 2.**(power-10)) : sprintf('%g', 2.**power)
do for [power = low:high:step] { set xtics add (label_of(power) power) }
set boxwidth 0.4
if (B_max > 50) { set logscale y; set yrange [0.5:B_max * 4] } else { set yrange [0:B_max * 1.3] }
at(what, by) = stringcolumn(c_range) eq what ? log(column(c_from)) / log(2) + by : NaN
plot $data using (at('asked', -0.2)):c_batches with boxes linecolor rgb blue title 'range asked for', \
     $data using (at('hardware', 0.2)):c_batches with boxes linecolor rgb orange title 'range of the IOMMU command'
