# SPDX-License-Identifier: GPL-2.0
# ratios.tsv, lines of "OPERATION" <tab> RATIO, as horizontal bars in ratios.svg.
set encoding utf8
stats 'ratios.tsv' using 2 nooutput
set terminal svg size 760, 60 + 22 * STATS_records background 'white' font 'DejaVu Sans,12' noenhanced
set output 'ratios.svg'
set title 'Instructions of shverbs for each of ib_uverbs'
set yrange [STATS_records - 0.4 : -0.6]
set xrange [0 : STATS_max > 1.2 ? STATS_max * 1.08 : 1.25]
set ytics nomirror scale 0
set xtics 0.2 nomirror
set grid xtics lc rgb '#dddddd'
set border 3 lc rgb '#888888'
set style fill solid noborder
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb '#444444' lw 1.5 front
unset key
plot 'ratios.tsv' using ($2/2):0:($2/2):(0.36):ytic(1) with boxxyerror lc rgb '#4a7fb5', \
     '' using 2:0:(sprintf('%.2f', $2)) with labels left offset 0.5,0 font ',10'
