"""What a run does to the process that it has for itself (`drag_graph.threads`)."""

import subprocess
import sys

COUNT = """
import ctypes, sys, tempfile, threading
from drag_graph.threads import ARENAS, few_arenas
assert sys.argv[1] == "as they come" or few_arenas()
together = threading.Barrier(12)
def work():
    blocks = [bytes(4_000) for _ in range(100)]
    together.wait(30)
threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
with tempfile.NamedTemporaryFile() as file:
    stream = libc.fopen(file.name.encode(), b"w")
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(file.read().count(b"<heap nr="), ARENAS)
"""


def arenas(how):
    done = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True, timeout=60)
    found, wanted = done.stdout.split()
    return int(found), int(wanted)


def test_the_threads_of_a_run_share_few_regions_of_memory():
    found, wanted = arenas("few")
    assert found <= wanted
    assert arenas("as they come")[0] > wanted, "else this test shows nothing"
