"""`make bench`: how fast and how lean, against what people run instead, in one process run.

The reference procedure is the published one (docs/metrics.md): for every output decode previous,
reference, mask and output, resize, black out the ROI, scikit-image's SSIM; one process, one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from attention import bench_attention
from features_bench import bench_features
from lpips_bench import bench_lpips
from PIL import Image
from skimage.metrics import structural_similarity
from study_bench import bench_study
from text_bench import bench_text

import medebench as mb
from medebench.images.picture import read_picture
from medebench.metrics.kernel import window_ssim
from medebench.parallel import core_count

SERVER = Path(__file__).parent.parent / "tests" / "models" / "server.py"
BUILT_IN = Path(mb.__file__).parent / "phantoms" / "shipped" / "phantom_editor"
PIXEL = ["cp_published", "cp", "ssim", "psnr", "change_inside", "change_outside"]
EXCERPT = Path(__file__).parent.parent.parent / "shared" / "medebench-sample"


def best_of(function: Callable[[], object], times: int) -> float:
    """The shortest of several times: the one least disturbed by other work on the machine."""
    durations = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        durations.append(time.perf_counter() - begin)
    return min(durations)


def work_of(function: Callable[[], object], times: int) -> float:
    """Processor time, all threads together, which other work on the machine disturbs less."""
    durations = []
    for _ in range(times):
        begin = time.process_time()
        function()
        durations.append(time.process_time() - begin)
    return min(durations)


def published_procedure(previous: Path, reference: Path, mask: Path, output: Path) -> float:
    before = Image.open(previous).convert("RGB")
    np.asarray(Image.open(reference).convert("RGB"))
    edited = Image.open(output).convert("RGB").resize(before.size, Image.Resampling.BICUBIC)
    roi = Image.open(mask).convert("L").resize(before.size, Image.Resampling.NEAREST)
    keep = 1 - np.asarray(roi)[..., None] / 255
    return float(
        structural_similarity(
            (np.asarray(before) * keep).astype(np.uint8),
            (np.asarray(edited) * keep).astype(np.uint8),
            channel_axis=2,
            data_range=255,
        )
    )


def bench_kernel(pairs: list[tuple[Path, Path]]) -> None:
    pictures = []
    for first, second in pairs:
        previous = read_picture(first)
        edited = Image.open(second).convert("RGB").resize(previous.shape[1::-1])
        pictures.append((previous, np.asarray(edited)))
    window_ssim(*pictures[0], 255)

    def theirs() -> None:
        for first, second in pictures:
            structural_similarity(first, second, channel_axis=2, data_range=255)

    def ours() -> None:
        for first, second in pictures:
            window_ssim(first, second, 255)

    slow, fast = best_of(theirs, 3), best_of(ours, 5)
    worst = max(
        abs(
            structural_similarity(a, b, channel_axis=2, data_range=255)
            - np.divide(*window_ssim(a, b, 255)[:2])
        )
        for a, b in pictures
    )
    count = len(pictures)
    print(
        f"SSIM kernel, {count} pairs, one thread: scikit-image {slow / count * 1e3:.1f} ms, "
        f"medebench {fast / count * 1e3:.2f} ms a pair: {slow / fast:.1f} times faster "
        f"(largest difference {worst:.0e})"
    )


def bench_scoring(cases: mb.CaseSet, folders: list[Path], scratch: Path) -> None:
    runs = [mb.adopt(folder, cases, scratch / folder.name) for folder in folders]
    jobs = []
    for run in runs:
        for case in run.cases:
            paths = case.files()
            output = run.output_path(case.id, 0)
            jobs.append((paths["previous"], paths["reference"], paths["roi"], output))

    def theirs() -> list[float]:
        return [published_procedure(*job) for job in jobs]

    def ours(metrics: list[str] | None) -> Callable[[], object]:
        def scored() -> None:
            for run in runs:
                with run.ledger() as ledger, ledger.transaction():
                    ledger._db.execute("DELETE FROM scores")
            mb.score(runs, metrics)

        return scored

    slow, effort = best_of(theirs, 3), work_of(theirs, 1)
    ours(None)()
    count = len(jobs)
    print(f"Scoring {count} outputs, ledger included, {core_count()} cores:")
    print(f"  reference procedure {slow:.2f} s ({effort:.2f} s of processor time)")
    for label, metrics in (
        ("the same number", PIXEL[:1]),
        ("all six pixel metrics", PIXEL),
        ("all metrics without weights", None),
    ):
        fast, work = best_of(ours(metrics), 7), work_of(ours(metrics), 3)
        print(
            f"  medebench, {label}: {fast:.3f} s ({work:.3f} s of processor time): "
            f"{slow / fast:.1f} times as fast, {effort / work:.1f} times less work"
        )


def peak_memory(count: int, scratch: Path) -> float:
    """Peak resident memory in MB of a process that edits and scores `count` outputs."""
    code = (
        "import sys, medebench as mb\n"
        "run = mb.edit('phantoms:count=26', 'noise', sys.argv[1], outputs=int(sys.argv[2]))\n"
        "mb.score(run, judge='offline')\n"
        "print(open('/proc/self/status').read())\n"
    )
    call = [sys.executable, "-c", code, str(scratch / str(count)), str(max(1, count // 26))]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    # Not getrusage: what it says of a child begins with the parent's size.
    peak = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def bench_memory(scratch: Path) -> None:
    few, many = peak_memory(104, scratch), peak_memory(2002, scratch)
    print(
        f"Peak memory, edit and score: {few:.0f} MB for 104 outputs, {many:.0f} MB for 2,002 "
        f"({many / few:.2f} times)"
    )


def bench_judge(scratch: Path, calls: int = 1000) -> None:
    """A healthy server with 16 places and 200 ms a call allows 80 calls a second."""
    from medebench.models import AnswerCache, Ask, Caller, find_client

    places, latency = 16, 0.2
    call = [sys.executable, str(SERVER), f"--places={places}", f"--latency={latency}", "--life=120"]
    pipe = subprocess.PIPE
    with subprocess.Popen(call, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        client = find_client("openai:bench", f"http://127.0.0.1:{port}/v1")
        asks = (Ask("You are a judge.", (f"Question {number}",)) for number in range(calls))
        with Caller(client, cache=AnswerCache(scratch / "answers")) as caller:
            begin = time.perf_counter()
            answered = sum(hasattr(result, "text") for _, result in caller.ask_all(asks))
            seconds = time.perf_counter() - begin
            refused = caller.tally.refused
        server.kill()
    allowed = places / latency
    print(
        f"Judge client, {answered} of {calls} calls answered: {answered / seconds:.1f} a second, "
        f"{answered / seconds / allowed:.0%} of the {allowed:.0f} that the server allows "
        f"({refused} calls turned away)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory part")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if EXCERPT.is_dir():
            cases = mb.load_cases(EXCERPT)
            folders = sorted((EXCERPT / "generated_images").iterdir())
        else:
            print("The excerpt of the release is not here: measured on phantoms instead.")
            cases = mb.load_cases("phantoms:count=9")
            folders = [
                mb.edit(cases, editor, scratch / "made" / editor).edits
                for editor in ("identity", "reference", "blur", "noise", "inpaint")
            ]
        outputs = [path for folder in folders for path in sorted(folder.glob("*.png"))]
        pairs = [(cases[path.stem.rpartition("_")[0]].previous, path) for path in outputs]
        bench_kernel(pairs)
        bench_scoring(cases, folders, scratch / "runs")
        bench_judge(scratch)
        bench_attention(BUILT_IN)
        bench_lpips()
        bench_features()
        bench_text()
        bench_study()
        if given.no_memory:
            return
        if Path("/proc/self/status").exists():
            bench_memory(scratch / "memory")
        else:
            print("Peak memory is measured on Linux only.")


if __name__ == "__main__":
    main()
