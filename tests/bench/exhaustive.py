"""The model-ranked search against an exhaustive one, on simulated devices: the time of its winner over that of the best there is."""

from measure import Figure
from tuning import tune

SPECS = [("sim:rtx4090", 256, "full"), ("sim:rtx4090", 256, "causal"), ("sim:a100", 128, "full")]


def measure(setting):
    figures = []
    for device, dim, mask in SPECS:
        ranked = tune(setting, device, dim, mask)
        whole = tune(setting, device, dim, mask, "--exhaustive")
        for one, best in zip(ranked["tasks"], whole["tasks"]):
            name = f"{device} d{dim} {mask} S {one['shape']['seqlen_kv']}: ranked over exhaustive"
            note = f"{one['winner']['schedule']} against {best['winner']['schedule']} of {best['space']['legal']}"
            figures.append(Figure(name, one["winner"]["ms"] / best["winner"]["ms"], "", 1.02, note=note))
    return figures
