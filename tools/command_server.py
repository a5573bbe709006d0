"""Console commands as forks of one process that has imported them: tests pay the start of Python and MLIR once.

    subprocess.run([*command_server.start(), "npuflow-opt", "--version"])

A command gets and gives what it would as a process of its own: arguments, directory, environment, standard streams,
exit code or signal. Only imports and the seed of hashes are the server's. It ends with who started it.
"""

from __future__ import annotations

import _thread
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import subprocess
    from collections.abc import Mapping

# What a command's module is; the function `main` in it takes its arguments from sys.argv.
COMMANDS = {
    "npuflow-opt": "npuflow.tools.opt",
    "npuflow": "npuflow.tools.npuflow",
    "filecheck": "filecheck.main",
}
# A guard against what never ends, for whoever waits for a command; no test may depend on speed.
HANG_SECONDS = 600
# What most commands import as they run.
_ALSO_IMPORTED = (
    *("npuflow.pipelines", "npuflow.tools.opt_session", "npuflow.tools.run", "npuflow.tools.verify"),
    *("npuflow.api.entry", "npuflow.execute.verify_pipeline", "npuflow.simulate.prove_handover"),
    "numpy.random",
)
# What the server itself compiles and runs before it begins to serve.
_PROGRAM = """
func.func @f(%a: tensor<8x16xi8>, %b: tensor<16x8xi8>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x16xi8>, tensor<16x8xi8>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
"""
# A request is one message: the system's limit is some 200 KiB.
_MESSAGE_BYTES = 1 << 18
_STREAMS = (0, 1, 2)

_servers: list[subprocess.Popen[bytes]] = []
_shared: list[str] = []
_starting = _thread.allocate_lock()  # `threading` would be slow to import for a client


def start(environment: Mapping[str, str] | None = None) -> list[str]:
    """Starts a server; returns what stands in front of a command to run it there. Commands wait until it is ready."""
    import socket
    import subprocess
    import tempfile
    from pathlib import Path

    path = Path(tempfile.mkdtemp(prefix="npuflow-commands-"), "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(64)
        argv = [sys.executable, __file__, "--serve", str(path), str(listener.fileno())]
        # Its standard input ends when the last process ends that could ask for something.
        server = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            env=environment,
        )
    _servers.append(server)
    # Without site-packages, and without what the module `socket` imports, a client starts in 10 ms.
    return [sys.executable, "-I", "-S", __file__, str(path)]


def command(name: str) -> list[str]:
    """The beginning of a command's argv, on a server for all of this process's commands."""
    with _starting:
        if not _shared:
            _shared.extend(start())
    return [*_shared, name]


def ask(path: str, arguments: list[str]) -> int:
    """Has a command run by the server; returns its exit code, or ends by the signal that ended it."""
    import _socket

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    connection.connect(path)
    request = marshal.dumps((arguments, os.getcwd(), dict(os.environ)))  # noqa: PTH109  (pathlib is slow to import)
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in _STREAMS)
    connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    answer = connection.recv(64)
    if not answer:
        raise ConnectionError(f"the server behind {path} ended")
    code = int(answer)
    if code < 0:
        _end_by(-code)
    return code


def _end_by(number: int) -> None:
    import signal

    if number != signal.SIGKILL:  # which nobody can handle
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def serve(path: str, listener: socket.socket) -> list[str]:
    """Forks for each request until nobody can ask any more; returns the command line in the fork that is to run one."""
    import gc
    import importlib
    import select
    import shutil
    import signal
    import socket
    from pathlib import Path

    for module in (*COMMANDS.values(), *_ALSO_IMPORTED):
        importlib.import_module(module)
    _warm_up()
    gc.freeze()  # forks leave shared pages alone
    running: dict[int, tuple[int, socket.socket]] = {}  # by what is readable when the process has ended
    while True:
        waiting = {connection: ended for ended, (_, connection) in running.items()}
        ready = select.select([listener, sys.stdin, *running, *waiting], [], [])[0]
        for ended in running.keys() & ready:
            _answer(ended, *running.pop(ended))
        for connection in waiting.keys() & ready:
            if waiting[connection] in running:  # nobody waits for it any more
                signal.pidfd_send_signal(waiting[connection], signal.SIGKILL)
        if listener in ready:
            connection, _ = listener.accept()
            request, streams, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, len(_STREAMS))
            process = os.fork()
            if process == 0:
                return _become(request, streams)
            for stream in streams:
                os.close(stream)
            running[os.pidfd_open(process)] = process, connection
        elif sys.stdin in ready:
            shutil.rmtree(Path(path).parent)
            return []


def _warm_up() -> None:
    """Does once what commands do first: their other imports, the first context, what is found once for each device.

    IREE's runtime isn't loaded: it complains at the end of each process that has it.
    """
    import npuflow

    for device in ("toy", "npu1"):
        npuflow.compile(_PROGRAM, device=device).run(verify=True, judge="jit")


def _answer(ended: int, process: int, connection: socket.socket) -> None:
    """Tells who asked how the command ended, if anybody is still there."""
    import contextlib

    os.close(ended)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with connection, contextlib.suppress(BrokenPipeError):
        connection.send(str(code).encode())


def _become(request: bytes, streams: list[int]) -> list[str]:
    """Takes over the directory, environment and standard streams of who asked; returns the arguments."""
    arguments, directory, environment = marshal.loads(request)
    for target, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    # The server's own objects know what its streams were: seekable, a terminal.
    by_line = 1 if os.isatty(1) or environment.get("PYTHONUNBUFFERED") else -1
    sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", by_line, closefd=False, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, closefd=False, encoding="utf-8", errors="backslashreplace")
    return list(arguments)


def _run(arguments: list[str]) -> int:
    """Runs a command in its fork; ends it as Python would, but leaves what the server has imported to the system.

    Taking that down touches every page of it: 40 ms, where a small command takes 5.
    """
    import atexit
    import importlib
    import threading
    from contextlib import suppress

    sys.argv = arguments
    try:
        code = importlib.import_module(COMMANDS[arguments[0]]).main()
    except SystemExit as ended:
        code = ended.code
    if code is not None and not isinstance(code, int):
        raise SystemExit(code)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    return code or 0  # streams that fail are Python's to complain of


def main() -> int:
    """Either of the two ends; in the fork that is to run a command, that command."""
    if sys.argv[1] != "--serve":
        return ask(sys.argv[1], sys.argv[2:])
    import socket

    path, descriptor = sys.argv[2:]
    arguments = serve(path, socket.socket(fileno=int(descriptor)))
    return _run(arguments) if arguments else 0


if __name__ == "__main__":
    sys.exit(main())
