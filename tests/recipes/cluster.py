"""A Slurm cluster of one node that lives in a folder: its own munged, slurmctld and slurmd, ended with the context."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scancel")
CONFIGURATION = """
ClusterName=tessera
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controllerPort}
SlurmdPort={nodePort}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SchedulerParameters=bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def program(name):
    """Daemons stand in sbin, which is not on everyone's path."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing():
    return [name for name in PROGRAMS if not program(name)]


def freePorts(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """`environment` is what programs of the cluster need. CannotStart says why there is none."""

    class CannotStart(Exception):
        pass

    def __init__(self, folder):
        self.folder, self.daemons = pathlib.Path(folder), []

    def start(self, name, *options):
        log = open(self.folder / f"{name}.log", "w")
        # Daemons end with this process, even if it is killed.
        process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", program(name), *options], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   env=self.environment)
        self.daemons.append((name, process))

    def waitFor(self, what, holds, seconds=30):
        deadline = time.monotonic() + seconds
        while not holds():
            ended = [name for name, process in self.daemons if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "".join(f"\n{name}: " + (self.folder / f"{name}.log").read_text()[-1500:] for name in ended or [self.daemons[-1][0]])
                raise Cluster.CannotStart(f"{' and '.join(ended) or what} {'ended' if ended else 'did not come up'}{logs}")
            time.sleep(0.1)

    def __enter__(self):
        self.folder.chmod(0o755)
        for name, mode in {"munge": 0o755, "state": 0o700, "spool": 0o755}.items():
            (self.folder / name).mkdir()
            (self.folder / name).chmod(mode)  # whatever the umask is
        munge = self.folder / "munge"
        key = munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        controllerPort, nodePort = freePorts(2)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.geteuid()).pw_name,
            controllerPort=controllerPort, nodePort=nodePort, processors=os.cpu_count()))
        self.environment = {**os.environ, "SLURM_CONF": str(configuration)}
        try:
            self.start("munged", "--foreground", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                       f"--log-file={munge}/log", f"--seed-file={munge}/seed")
            self.waitFor("munged", lambda: (munge / "socket").exists())
            self.start("slurmctld", "-D", "-i")
            self.start("slurmd", "-D")
            self.waitFor("the node", self.isIdle)
        except BaseException:
            self.__exit__()
            raise
        return self

    def isIdle(self):
        answer = subprocess.run([program("sinfo"), "--noheader", "--format=%T"], env=self.environment, capture_output=True, text=True)
        return answer.stdout.strip() == "idle"

    def __exit__(self, *error):
        running = [process for _, process in self.daemons]
        if len(running) > 1:
            subprocess.run([program("scancel"), "--me"], env=self.environment, capture_output=True, timeout=30)
        for process in reversed(running):
            process.terminate()
        for process in reversed(running):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
