"""Pictures of frames. Figures are made without pyplot: no global state, no display.

Each function takes a frame of `coldturn.analysis.frames` and returns a figure; `save` writes it.
"""

from coldturn.analysis.charts.ablation import ablation_chart, ablations
from coldturn.analysis.charts.breaks import breaks_chart
from coldturn.analysis.charts.catalogue import catalogue_chart
from coldturn.analysis.charts.files import ChartFileError, need_picture_place, replace_picture, save
from coldturn.analysis.charts.hit_rate import hit_rate_chart
from coldturn.analysis.charts.prefix_map import prefix_map_chart
from coldturn.analysis.charts.steps import READ_COLOUR, UNCACHED_COLOUR, steps_chart
from coldturn.analysis.charts.style import EmptyChartError
from coldturn.analysis.charts.zones import zones_chart

__all__ = [
    "READ_COLOUR",
    "UNCACHED_COLOUR",
    "ChartFileError",
    "EmptyChartError",
    "ablation_chart",
    "ablations",
    "breaks_chart",
    "catalogue_chart",
    "hit_rate_chart",
    "need_picture_place",
    "prefix_map_chart",
    "replace_picture",
    "save",
    "steps_chart",
    "zones_chart",
]
