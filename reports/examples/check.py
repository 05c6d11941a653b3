#!/usr/bin/env python3
"""Checks the example workflows: structure, and their commands on a few small cases.

usage: check.py ULPSCOPE  (the program; the working folder must hold cases/ with suites/tiny.toml)
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SETTINGS = {"SUITE": "tiny", "BUDGETS": "cases/budgets/tiny.toml", "BASELINE": "baseline.json"}


def fail(message):
    sys.exit(f"check.py: {message}")


def shell(script, folder, **variables):
    """Runs a step as a runner does: bash -e, in the project's folder."""
    environment = {**os.environ, **SETTINGS, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", **variables}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        fail(f"exit {done.returncode} from: {script}\n{done.stdout}")
    return done.stdout


def clean(folder):
    subprocess.run(["rm", "-rf", "out"], cwd=folder, check=True)


def expect(folder, *files):
    for name in files:
        if not (folder / "out" / name).is_file() or not (folder / "out" / name).stat().st_size:
            fail(f"the workflow left no out/{name}")


def github(path, folder):
    flow = yaml.safe_load(path.read_text())
    jobs = flow["jobs"]
    if True not in flow and "on" not in flow:  # YAML 1.1 reads the key `on` as true
        fail(f"{path.name} has no trigger")
    clean(folder)
    for name, job in jobs.items():
        if "runs-on" not in job or not job["steps"]:
            fail(f"{path.name}: job {name} is not complete")
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                fail(f"{path.name}: job {name} needs {other}, which is not there")
        for step in job["steps"]:
            if ("uses" in step) == ("run" in step):
                fail(f"{path.name}: a step of {name} must either use or run something")
            if "uses" in step and not re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+", step["uses"]):
                fail(f"{path.name}: {step['uses']} names no version")
            if step.get("name") in (None, "build"):
                continue
            for shard in job.get("strategy", {}).get("matrix", {}).get("shard", [None]):
                script = step["run"].replace("${{ matrix.shard }}", str(shard))
                if "${{" in script:
                    fail(f"{path.name}: {step['name']} has an expression that nobody fills in")
                if step["name"] == "propose" or step["name"] != "gate":
                    shell(script, folder)
                else:
                    shell(script, folder, GITHUB_STEP_SUMMARY=str(folder / "out" / "summary.md"))
    expect(folder, "record.json", "gate.json", "summary.md")


def gitlab(path, folder):
    flow = yaml.safe_load(path.read_text())
    clean(folder)
    for name in ("numerics shard", "numerics gate"):
        job = flow[name]
        if job["stage"] not in flow["stages"] or job["extends"] not in flow:
            fail(f"{path.name}: job {name} refers to what is not there")
        count = job.get("parallel", 1)
        for index in range(1, count + 1):
            shell("\n".join(job["script"]), folder, CI_NODE_INDEX=str(index), CI_NODE_TOTAL=str(count))
    expect(folder, "record.json", "gate.json", "code-quality.json", "junit.xml")


def slurm(path, folder):
    clean(folder)
    settings = {"OUT": "out", "ULPSCOPE": str(PROGRAM)}
    shell(f"bash -n '{path}'", folder)
    for task in range(1, 4):
        shell(f"'{path}'", folder, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="3", **settings)
    shell(f"'{path}' gate", folder, **settings)
    expect(folder, "record.json", "gate.json")
    # A task that has several processes share its shard, and others that do not: the shards of one run all the same.
    shell(f"'{path}'", folder, SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="3", DEVICE="cpu:2", **settings)
    shell(f"'{path}' gate", folder, **settings)


def main():
    folder = pathlib.Path.cwd()
    shell("ulpscope run --suite tiny --json baseline.json", folder)
    one = (folder / "baseline.json").read_text()
    results = one[one.index('"results": ['):one.index('"schema"')]
    slurm(HERE / "slurm-array.sh", folder)
    merged = (folder / "out" / "record.json").read_text()
    if merged[merged.index('"results": ['):merged.index('"schema"')] != results:
        fail("merged shards are not the one run, byte for byte")
    if yaml is None:
        print("workflows not checked: no python3-yaml here")
        return
    github(HERE / "github-cpu.yml", folder)
    github(HERE / "github-gpu.yml", folder)
    gitlab(HERE / "gitlab.yml", folder)
    print("checked: github-cpu.yml github-gpu.yml gitlab.yml slurm-array.sh")


try:
    import yaml
except ImportError:
    yaml = None
main()
