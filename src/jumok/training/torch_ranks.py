"""The ranks of a run over torch.distributed, which torchrun or `jumok train --processes` starts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import torch
from torch import distributed, nn

from jumok.errors import ConfigError, TrainingError
from jumok.json_types import JsonObject
from jumok.shapes import Tensor
from jumok.training.shared_memory import Channel, channels

TIMEOUT = timedelta(hours=12)
"""Ranks wait for the first one while it prepares data and validates. One that has died is noticed
at once, because its connections end."""

START_TIMEOUT = timedelta(minutes=5)
"""All ranks have to be started within this time."""


class TorchRanks:
    """The processes of torch.distributed's default group.

    Args:
        channels_by_rank: to other processes of this machine; faster than the group.
    """

    def __init__(self, local_rank: int, channels_by_rank: Mapping[int, Channel]) -> None:
        self.count, self.index = distributed.get_world_size(), distributed.get_rank()
        self.local_rank = local_rank
        self._channels = channels_by_rank

    def all_gather(self, own: Tensor) -> Sequence[Tensor]:
        own = own.contiguous()
        gathered = [torch.empty_like(own) for _ in range(self.count)]
        if own.device.type == "cpu" and len(self._channels) == self.count - 1:
            gathered[self.index].copy_(own)
            for turn in range(self.count):
                other = (turn - self.index) % self.count  # all meet in pairs, turn by turn
                if other != self.index:
                    self.sendrecv(other, own, gathered[other])
            return gathered
        with self._named_loss():
            distributed.all_gather(gathered, own)
        return gathered

    def sendrecv(self, other: int, own: Tensor, received: Tensor) -> None:
        if own.device.type == "cpu" and other in self._channels:
            with self._named_loss(other):
                self._channels[other].sendrecv(own, received)
            return
        sends = [distributed.P2POp(distributed.isend, own.contiguous(), other)]
        receives = [distributed.P2POp(distributed.irecv, received, other)]
        operations = (sends if own.numel() else []) + (receives if received.numel() else [])
        if operations:
            with self._named_loss(other):
                for work in distributed.batch_isend_irecv(operations):
                    work.wait()

    def broadcast(self, facts: JsonObject | None) -> JsonObject:
        text = b"" if facts is None else json.dumps(facts).encode()
        size = torch.tensor([len(text)])
        with self._named_loss():
            distributed.broadcast(size, 0)
            content = torch.zeros(int(size), dtype=torch.uint8)
            if text:
                content.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
            distributed.broadcast(content, 0)
        received: JsonObject = json.loads(bytes(content.tolist()))
        return received

    def shard(
        self,
        whole: nn.Module,
        parts: Sequence[nn.Module],
        precision: torch.dtype,
        device: torch.device,
    ) -> None:
        from torch.distributed import fsdp

        if "set_reduce_scatter_unused_params" not in vars(fsdp.FSDPModule):
            raise ConfigError(
                'training.sharding = "full" needs a newer torch: in this one the processes would '
                "wait for each other where one has no gradient of a weight.",
                expected="torch 2.13 or newer",
                got=f"torch {torch.__version__}",
                do="update torch, or --set training.sharding=slices",
            )
        from torch.distributed import device_mesh

        mesh = device_mesh.init_device_mesh(device.type, (self.count,))
        # The model makes its inputs itself, in the precision of its weights.
        policy = fsdp.MixedPrecisionPolicy(
            param_dtype=None if precision == torch.float32 else precision,
            reduce_dtype=torch.float32,
            cast_forward_inputs=False,
        )
        for module in (*parts, whole):
            divided = fsdp.fully_shard(module, mesh=mesh, mp_policy=policy)
        divided.set_reduce_scatter_unused_params(True)

    @contextmanager
    def connected(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            # What is computed here may fail for other reasons.
            if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
                raise
            raise self._lost(error) from error

    @contextmanager
    def _named_loss(self, other: int | None = None) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ConnectionError) as error:
            raise self._lost(error, other) from error

    def _lost(self, error: Exception, other: int | None = None) -> TrainingError:
        name = "another rank" if other is None else f"rank {other}"
        return TrainingError(
            f"rank {self.index} lost the connection to {name}, which has probably ended.",
            got=str(error).splitlines()[0][:200],
            do="look for the error of that rank, then continue with --resume",
        )


@contextmanager
def process_group(variables: Mapping[str, str]) -> Iterator[TorchRanks]:
    """The ranks that the environment names, as torchrun sets it, while entered.

    Raises:
        ConfigError: a variable is missing, or the ranks do not meet.
    """
    try:
        rank, count = int(variables["RANK"]), int(variables["WORLD_SIZE"])
        host, port = variables["MASTER_ADDR"], int(variables["MASTER_PORT"])
        place = int(variables.get("LOCAL_RANK", "0"))
    except (KeyError, ValueError) as error:
        raise ConfigError(
            "this process is one of several, but does not know which.",
            expected="RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them",
            got=f"{type(error).__name__}: {error}",
            do="start it by torchrun, or by jumok train --processes; or unset WORLD_SIZE",
        ) from error
    with ExitStack() as opened:
        try:
            # torchrun itself keeps the store; without it the first rank does.
            agent_store = variables.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
            store = distributed.TCPStore(  # type: ignore[attr-defined]
                host,
                port,
                is_master=rank == 0 and not agent_store,
                timeout=START_TIMEOUT,
                wait_for_workers=False,
            )
            prefixed = distributed.PrefixStore(  # type: ignore[attr-defined]
                f"jumok {variables.get('TORCHELASTIC_RESTART_COUNT')}", store
            )
            wait_for_all(prefixed, rank, count)
            distributed.init_process_group(
                backends(), store=prefixed, rank=rank, world_size=count, timeout=TIMEOUT
            )
            opened.callback(distributed.destroy_process_group)
            channels_by_rank = channels(TorchRanks(place, {}), START_TIMEOUT.total_seconds())
            ranks = TorchRanks(place, opened.enter_context(channels_by_rank))
        except (RuntimeError, OSError) as error:
            raise ConfigError(
                f"rank {rank} of {count} did not meet the others at {host}, port {port}.",
                got=str(error).splitlines()[0][:200],
                do="start all of them, with an address that all of them reach and a port that is "
                "free",
            ) from error
        yield ranks


def backends() -> str:
    """What sends tensors: gloo those of processors, NCCL those of GPUs."""
    gpus = torch.cuda.is_available() and distributed.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if gpus else "gloo"


def wait_for_all(store: distributed.Store, rank: int, count: int) -> None:
    """Waits until all ranks are there, or raises a RuntimeError that names the missing ones."""
    names = [f"rank {each}" for each in range(count)]
    store.set(names[rank], "here")
    try:
        store.wait(names, START_TIMEOUT)
    except RuntimeError as error:
        missing = [name for name in names if not store.check([name])]
        named = ", ".join(missing) or "the others"
        raise RuntimeError(f"waited {START_TIMEOUT} for {named}") from error
