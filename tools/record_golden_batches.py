"""Write tests/golden/batches anew with Apache Kafka's own classes: `python tools/record_golden_batches.py`.

Needs Java and Kafka's jars, which tests/toolchain.py finds or fetches. Compressed files differ when a
codec's library does; the others must come out the same.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def main() -> None:
    from tests import toolchain
    from tests.oracle.jvm import java

    classes = toolchain.compiled_java(ROOT / "tests" / "interop" / "batch_oracle")
    folder = ROOT / "tests" / "golden" / "batches"
    folder.mkdir(exist_ok=True)
    subprocess.run(java("BatchOracle", "write", str(folder), classes=classes), check=True)
    for file in sorted(folder.glob("*.batch")):
        print(f"{file.name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
