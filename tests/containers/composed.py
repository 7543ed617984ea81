"""The compose file, as podman-compose runs it: page, Redis, a change of the mounted file, and an end that waits for a
request. Usage: composed.py COMPOSE WORK HTTP_PORT ADMIN_PORT"""

import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

from containers import FRONTDESK, LOOPBACK, REDIS, SITE, Load, confined, eventually, get, hold, memory, podman, serves

FILE = pathlib.Path("deploy/container/compose.yaml")


def main(program, work, http, admin):
    config = pathlib.Path(work) / "compose"
    shutil.copytree(FILE.parent / "site", config)
    address, operator = (LOOPBACK, int(http)), (LOOPBACK, int(admin))
    env = {**os.environ, "FRONTDESK_IMAGE": FRONTDESK, "SITE_IMAGE": SITE, "REDIS_IMAGE": REDIS, "CONFIG": str(config),
           "HTTP": f"{LOOPBACK}:{http}", "ADMIN": f"{LOOPBACK}:{admin}"}

    def compose(*words):
        done = subprocess.run([program, "--file", str(FILE), *words], env=env, capture_output=True, text=True)
        hold(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")

    compose("up", "--detach", "--no-build")
    serves(operator)
    container = next(n for n in podman("ps", "--format", "{{.Names}}").split() if "frontdesk" in n.removeprefix("frontdesk"))
    confined(container)
    hold(memory(container)[0] == 256 * 1024 * 1024, "the memory limit of the file")
    eventually("it has the store", lambda: "\nfrontdesk_store_up 1\n" in get(operator, "/metrics")[2])
    hold("We sell books." in get(address, "/")[2], "the page")
    hold(get(operator, "/config")[0] == 403, "the admin address wants a token")
    with Load(address) as load:
        # As an editor saves it.
        new = config / "frontdesk.toml.new"
        new.write_text((config / "frontdesk.toml").read_text() + '\n[site]\nname = "Second"\n')
        new.rename(config / "frontdesk.toml")
        eventually("the change is in use", lambda: "Second" in get(address, "/.well-known/agent.json")[2])
    hold(not load.failed and load.answered > 20, f"{load.answered} answered, failed: {load.failed[:3]}")
    answers = []
    asked = threading.Thread(target=lambda: answers.append(get(address, "/slow?seconds=3")))
    asked.start()
    time.sleep(0.5)
    compose("down", "--volumes")
    asked.join()
    hold(answers and answers[0][0] == 200, f"what was under way at the end: {answers}")
    print(f"compose: up, a change taken over under {load.answered} requests, and down with a request under way; none failed")


main(*sys.argv[1:])
