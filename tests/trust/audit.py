"""Known weaknesses of installed packages, by pip-audit; for `make audit`. What could not be looked up is a failure."""

import json
import subprocess
import sys


def judge(report):
    """Lines to print about a report of pip-audit, and whether all is well: every package looked up, none weak."""
    packages = report["dependencies"]
    unknown = [f"{one['name']}: not looked up ({one['skip_reason']})" for one in packages if "skip_reason" in one]
    weak = [
        f"{one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for one in packages
        for found in one.get("vulns", ())
    ]
    n_known = len(packages) - len(unknown)
    return [*weak, *unknown, f"looked up {n_known} of {len(packages)} packages, found {len(weak)} weaknesses"], not (
        weak or unknown or not packages
    )


def audit(requirements):
    """Ask pip-audit about the lines of a requirements file; returns the exit code."""
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format", "json", "-r", requirements]
    asked = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(asked.stdout)
    except ValueError:  # no network, most often: pip-audit says so on its standard error
        print(f"nothing was looked up: {asked.stderr.strip()[-400:]}")
        return 1
    lines, is_well = judge(report)
    print("\n".join(lines))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(audit(sys.argv[1]))
