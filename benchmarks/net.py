"""Our reactor against a C floor: small requests and large slices.

    python benchmarks/net.py [--seconds 3] [--json] [--only TEXT]

Builds the load generator and the floor with `cc`. Each figure is one run: load, server and kernel share
the machine, so expect +-10% on small requests and +-30% on bulk; compare medians of several runs.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MIB = 1024 * 1024


def build(name: str, folder: Path) -> str:
    """Compile one C file and return the program."""
    target = folder / name
    subprocess.run(["cc", "-O2", "-o", target, HERE / "load" / f"{name}.c"], check=True)
    return str(target)


def measure(
    server: list[str], load: str, *, connections: int, depth: int, seconds: float, request_bytes: int
) -> dict[str, Any]:
    """Start a server, load it, stop it; return the load's figures and the server's CPU."""
    process = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    port = process.stdout.readline().split()[1]
    arguments = ["127.0.0.1", port, str(connections), str(depth), str(seconds), str(request_bytes)]
    result = json.loads(subprocess.run([load, *arguments], check=True, capture_output=True, text=True).stdout)
    process.stdin.close()
    output = process.stdout.read().splitlines()
    process.wait(timeout=10)
    cpu_s = float(output[0].split()[1])
    result["server_cpu_us_per_answer"] = round(cpu_s * 1e6 / result["answers"], 2)
    gigabytes = result["gigabytes_per_second"] * result["seconds"]
    gigabytes = max(gigabytes, result["answers"] * request_bytes / 1e9)
    result["gigabytes_per_second"] = round(gigabytes / result["seconds"], 3)
    result["server_cpu_s_per_gigabyte"] = round(cpu_s / gigabytes, 3)
    if len(output) > 1:
        listener = json.loads(output[1])["listeners"][0]
        result["system_calls_per_answer"] = round(
            (listener["reads"] + listener["sends"] + listener["send_files"]) / result["answers"], 2
        )
        result["partial_sends_per_answer"] = round(listener["partial_sends"] / result["answers"], 2)
    return result


def cases(data: str) -> list[tuple[str, dict[str, Any], dict[str, int]]]:
    """Return name, server options, load options."""
    listed: list[tuple[str, dict[str, Any], dict[str, int]]] = []
    for connections in (1, 16):
        listed.append(
            (
                f"100-byte request, 60-byte answer, {connections} connections",
                {"answer_bytes": 60},
                {"connections": connections, "depth": 1, "request_bytes": 100},
            )
        )
    listed.append(
        (
            "the same, 16 connections, 5 in flight each",
            {"answer_bytes": 60},
            {"connections": 16, "depth": 5, "request_bytes": 100},
        )
    )
    listed.append(
        (
            "1 MiB request, 60-byte answer, 4 connections",
            {"answer_bytes": 60},
            {"connections": 4, "depth": 1, "request_bytes": MIB},
        )
    )
    for size in (1024, 65536, 131072, MIB):
        for mode in ("zero_copy", "heap"):
            listed.append(
                (
                    f"{size}-byte slice by {mode}, 16 connections",
                    {"answer_bytes": size, "file": data, "fetch_mode": mode},
                    {"connections": 16, "depth": 1, "request_bytes": 100},
                )
            )
    for connections in (1, 4):
        listed.append(
            (
                f"{MIB}-byte slice by zero_copy, {connections} connections",
                {"answer_bytes": MIB, "file": data, "fetch_mode": "zero_copy"},
                {"connections": connections, "depth": 1, "request_bytes": 100},
            )
        )
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--server", default="{}", help="more server options, as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load, floor = build("load", Path(folder)), build("floor", Path(folder))
        data = Path(folder) / "data"
        data.write_bytes(bytes(2 * MIB))
        results = []
        for name, server, shape in cases(str(data)):
            if options.only not in name:
                continue
            extra = json.loads(options.server)
            ours = [sys.executable, str(HERE / "net_server.py"), json.dumps(server | extra)]
            floors = [floor, str(server["answer_bytes"])] + ([server["file"]] if "file" in server else [])
            for kind, command in (("ours", ours), ("floor", floors)):
                if kind == "floor" and (server.get("fetch_mode") == "heap" or shape["depth"] > 1):
                    continue
                if kind == "floor" and shape["request_bytes"] > 60_000:
                    continue
                figures = measure(command, load, seconds=options.seconds, **shape)
                results.append({"case": name, "server": kind, **figures})
                if not options.json:
                    print(
                        f"{name:58} {kind:6} {figures['per_second']:8.0f}/s"
                        f" {figures['gigabytes_per_second']:6.2f} GB/s"
                        f" {figures['server_cpu_us_per_answer']:8.2f} us CPU"
                        f" {figures['server_cpu_s_per_gigabyte']:7.3f} CPU-s/GB"
                        f" p50 {figures['p50_us']:.0f} p99 {figures['p99_us']:.0f} us"
                        f" calls {figures.get('system_calls_per_answer', '-')}"
                        f" partial {figures.get('partial_sends_per_answer', '-')}",
                        flush=True,
                    )
        if options.json:
            host = {"machine": platform.machine(), "kernel": platform.release(), "python": sys.version}
            print(json.dumps({"host": host, "results": results}, indent=1))


if __name__ == "__main__":
    main()
