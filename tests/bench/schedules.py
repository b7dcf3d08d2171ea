"""Registers and spills of the default schedules on every target, as the assembler reports them."""

from measure import Figure

# Devices of the simulator by the target that they stand for.
DEVICES = {"sm_80": "sim:a100", "sm_86": "sim:rtx3090", "sm_89": "sim:rtx4090", "sm_90": "sim:h100", "sm_120": "sim:rtx5090"}


def measure(setting):
    figures = []
    for headDim in (64, 96, 128, 256):
        for target, device in DEVICES.items():
            report = setting.tesseraJson("run", "--dtype", "bf16", "--heads", 1, "--head-dim", headDim, "--seqlen-q", 16, "--seqlen-kv", 16,
                                         "--causal", "bottom-right", "--target", target, "--device", device)
            if report["spill_bytes"] is None:
                raise RuntimeError(f"no assembler: {report['assembler']}")
            note = f"{report['registers']} registers, {report['schedule']}"
            figures.append(Figure(f"d {headDim} {target}: spilled", report["spill_bytes"], "bytes", 0, note=note))
    return figures
