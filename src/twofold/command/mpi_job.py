"""A cluster on Kubernetes: the MPIJob (kubeflow.org/v2beta1) whose launcher runs ``twofold launch``."""

import json
from collections.abc import Sequence

from ..errors import LaunchError

TEMPLATE = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: twofold
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: launcher
            image: {image}
            command: {command}
            env: [{{"name": "PRTE_MCA_plm_ssh_args", "value": "{ssh}"}}]
    Worker:
      replicas: {processes}
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: worker
            image: {image}
            command: ["/usr/sbin/sshd", "-De"]
"""
#: Options that Open MPI adds to ssh: the launcher may start before the servers of ssh, and the pods' new keys are unknown.
SSH = "-o ConnectionAttempts=60 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
#: The operator writes the names of the workers' pods there.
HOSTFILE = "/etc/mpi/hostfile"


def mpi_job(workers: int, servers: int, image: str | None, words: Sequence[str]) -> str:
    """The MPIJob as YAML, with a pod for each process. JSON strings and lists are YAML too.

    Parameters
    ----------
    workers, servers
        Number of processes in each role.
    image
        The image of the containers, which has an ssh server and Twofold with the extra ``dist``.
    words
        The command line, from ``twofold launch`` on.

    Raises
    ------
    LaunchError
        If there is no image.
    """
    if not image:
        raise LaunchError("launch: --k8s needs the image of the containers", None, "pass --image NAME")
    command = ["python", "-m", words[0], words[1], "--hostfile", HOSTFILE, *words[2:]]
    return TEMPLATE.format(image=json.dumps(image), command=json.dumps(command), ssh=SSH, processes=workers + servers)
