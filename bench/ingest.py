"""How fast documents are read in: `python bench/ingest.py --data FOLDER [--documents 100 1000] [--embedder lexical]`.

Documents of five pages (`--words`, by default 2,500) are cut from the public documents of the folder (its `*.docs.jsonl`), into
a temporary place, and read in by the command line, in a process of its own. It prints documents, triples, seconds and documents
a second, the share of the time in the store, the peak of the memory, the size of the store, and the seconds of the same command
again, which has nothing to do. Two numbers of documents compare the memory. `--store bolt://…` measures a Neo4j, which should
hold nothing else (the documents stay there, each run in a namespace of its own); its login is that of the environment.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = 2500
STEP = 1301
"""Words between the beginnings of two documents, so that they differ."""


def write_documents(data: Path, place: Path, number: int, length: int) -> None:
    texts = [json.loads(line)["text"] for file in sorted(data.glob("*.docs.jsonl")) for line in file.open(encoding="utf-8")]
    words = "\n\n".join(texts).split(" ")
    for one in range(number):
        start = one * STEP % (len(words) - length)
        (place / f"{one:05}.txt").write_text(" ".join(words[start : start + length]), encoding="utf-8")


def run(place: Path, store: str, embedder: str, workers: int) -> tuple[dict, float, float]:
    """Read the folder in, and return the totals, the peak of the memory in MB, and the seconds of processor time."""
    command = [sys.executable, "-m", "drag_graph", "ingest", str(place), "--store", store, "--json"]
    command += ["--embedder", embedder, "--privacy", "off", "--workers", str(workers)]
    command += ["--namespace", f"bench-{place.parent.name}"] if "://" in store else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    return json.loads(out)["totals"], used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def measure(args: argparse.Namespace, number: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        place, store = Path(folder, "library"), args.store or str(Path(folder, "graph.lbug"))
        place.mkdir()
        write_documents(args.data, place, number, args.words)
        first, peak, processor = run(place, store, args.embedder, args.workers)
        again, *_ = run(place, store, args.embedder, args.workers)
        assert again["unchanged"] == number
        return {
            "documents": number,
            "evidence": first["evidence"],
            "triples": first["triples"],
            "seconds": round(first["seconds"], 1),
            "documents_a_second": round(number / first["seconds"], 2),
            "processor_seconds": round(processor, 1),
            "share_of_the_store": round(first["seconds_in_store"] / first["seconds"], 2),
            "peak_mb": round(peak),
            "store_mb": None if args.store else round(Path(store).stat().st_size / 1e6),
            "again_seconds": round(again["seconds"], 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--embedder", default="lexical")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--words", type=int, default=WORDS, help="length of a document")
    parser.add_argument("--store", default="")
    args = parser.parse_args()
    print(f"processors {sorted(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}")
    for number in args.documents:
        found = measure(args, number)
        print(json.dumps({"embedder": args.embedder, "workers": args.workers, **found}), flush=True)


if __name__ == "__main__":
    main()
