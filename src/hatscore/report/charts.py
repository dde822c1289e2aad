"""All charts by name. Each takes records and returns an Altair chart that reads them by name.

With ``embed=False`` a chart holds no records: whoever shows it puts them under its ``data_name``
(``view.data("scores", records)`` in Vega, or ``datasets`` in the specification). Orders of
languages and models are parameters of the chart, so a page may sort and filter without drawing
anew.
"""

from hatscore.report.charts_map import heat_map, ranking
from hatscore.report.charts_profiles import profiles, status_bars
from hatscore.report.charts_scores import hat_dots, metrics_beside, ordered_models
from hatscore.report.charts_study import study_chart
from hatscore.report.charts_theme import theme

__all__ = [
    "hat_dots",
    "heat_map",
    "metrics_beside",
    "ordered_models",
    "profiles",
    "ranking",
    "status_bars",
    "study_chart",
    "theme",
]
