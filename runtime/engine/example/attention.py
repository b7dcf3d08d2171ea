#!/usr/bin/env python3
"""An attention on .npy files from Python: libtessera.so through ctypes, and nothing but the standard library.

q, k and v are arrays (batch, sequence, head, dim) of float16 or float32; the answer is written as such a file too.
"""

import argparse
import ast
import ctypes
import struct
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

# tessera/tessera_c.h, as far as it is used here.
F16, F32 = 1, 3
MASK_FULL, MASK_CAUSAL = 0, 1
ALIGN_NONE, ALIGN_TOP_LEFT, ALIGN_BOTTOM_RIGHT = 0, 1, 2
POLICY_JIT, POLICY_BUNDLE_ONLY = 0, 2


class Sized(ctypes.Structure):
    """A struct whose first member is its size; what is not given is 0, which is the default."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(type(self)), **members)


class Spec(Sized):
    _fields_ = [("size", c_size_t), ("dtype", c_int32), ("out_dtype", c_int32), ("head_dim", c_uint32), ("value_dim", c_uint32),
                ("mask", c_int32), ("align", c_int32), ("window_left", c_int64), ("window_right", c_int64),
                ("has_scale", c_int32), ("scale", c_float), ("has_softcap", c_int32), ("softcap", c_float),
                ("outputs", c_uint32), ("precision", c_int32), ("access_bytes", c_uint32), ("reserved", c_uint32)]


class Problem(Sized):
    _fields_ = [("size", c_size_t)] + [(name, c_int64) for name in ("batch", "heads", "kv_heads", "seqlen_q", "seqlen_kv")]


class EngineOptions(Sized):
    _fields_ = [("size", c_size_t), ("bundles", POINTER(c_char_p)), ("bundle_count", c_size_t), ("embedded_bundles", c_void_p),
                ("embedded_bundle_count", c_size_t), ("bundle_key", c_char_p), ("cache_directory", c_char_p), ("cache_bytes", c_uint64),
                ("cache_mode", c_int32), ("policy", c_int32), ("compiler_library", c_char_p), ("max_kernels", c_uint64)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("reserved", c_int32), ("shape", c_int64 * 4), ("strides", c_int64 * 4)]


class LaunchArguments(Sized):
    _fields_ = [("size", c_size_t)] + [(name, POINTER(Tensor)) for name in "qkvo"] + [("lse", c_void_p), ("rescues", c_void_p)]


class KernelInfo(Sized):
    """Only the first member: the struct of an older program, which the library fills as far as it reaches."""
    _fields_ = [("size", c_size_t), ("text", c_char_p)]


class TesseraError(Exception):
    pass


class Tessera:
    """The library: a call that fails raises, with the message and the remedy."""

    def __init__(self, path):
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise TesseraError(f"{error}\n--library names the file, for example --library build/lib/libtessera.so") from None
        for name in ("tessera_last_error", "tessera_last_hint"):
            getattr(self.library, name).restype = c_char_p
        self.library.tessera_buffer_data.restype = c_void_p

    def __getattr__(self, name):
        function = getattr(self.library, f"tessera_{name}")

        def call(*arguments):
            if function(*arguments):
                raise TesseraError(f"{self.library.tessera_last_error().decode()}\n{self.library.tessera_last_hint().decode()}".strip())
        return call

    def make(self, name, *arguments):
        """The handle that a function returns through its last argument."""
        handle = c_void_p()
        getattr(self, name)(*arguments, byref(handle))
        return handle

    def data(self, buffer):
        return self.library.tessera_buffer_data(buffer)

    def destroy(self, kind, handle):
        getattr(self.library, f"tessera_{kind}_destroy")(handle)


def readNpy(path):
    """(dtype, shape, bytes) of a .npy file in C order."""
    with open(path, "rb") as file:
        magic = file.read(8)
        if len(magic) < 8 or magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
            raise TesseraError(f"{path} is not a .npy file")
        try:
            length = struct.unpack("<H", file.read(2)) if magic[6] == 1 else struct.unpack("<I", file.read(4))
            header = ast.literal_eval(file.read(*length).decode("utf-8"))
            dtype, shape = {"<f2": F16, "<f4": F32}.get(str(header["descr"])), tuple(map(int, header["shape"]))
        except (struct.error, SyntaxError, ValueError, KeyError, TypeError) as error:
            raise TesseraError(f"{path} has a damaged header: {error}") from None
        values = file.read()
    if dtype is None or header.get("fortran_order") or len(shape) != 4:
        raise TesseraError(f"{path} holds {header}; a C-ordered array (batch, sequence, head, dim) of float16 or float32 is needed")
    count = shape[0] * shape[1] * shape[2] * shape[3]
    if len(values) != count * itemSize(dtype):
        raise TesseraError(f"{path} has {len(values)} bytes of values, its shape {shape} needs {count * itemSize(dtype)}")
    return dtype, shape, values


def writeNpy(path, dtype, shape, values):
    header = repr({"descr": "<f2" if dtype == F16 else "<f4", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def itemSize(dtype):
    return 2 if dtype == F16 else 4


def attention(tessera, device, q, k, v, causal, bundle):
    """(shape, bytes) of softmax(q k^T / sqrt(d)) v, and a text about the kernel."""
    dtype, (batch, seqlenQ, heads, dim), _ = q
    _, (_, seqlenKv, kvHeads, _), _ = k
    outShape = (batch, seqlenQ, heads, v[1][3])

    buffers, tensors = [], []
    for tensorType, shape, values in (q, k, v, (dtype, outShape, None)):
        size = itemSize(dtype) * shape[0] * shape[1] * shape[2] * shape[3]
        buffers.append(tessera.make("buffer_allocate", device, c_size_t(size)))
        if values:
            tessera.buffer_upload(buffers[-1], values, c_size_t(size), c_size_t(0))
        tensors.append(Tensor())
        tessera.tensor_contiguous(c_void_p(tessera.data(buffers[-1])), c_int32(tensorType), *map(c_int64, shape), byref(tensors[-1]))
    access = c_uint32()
    tessera.access_bytes(*map(byref, tensors), byref(access))

    spec = Spec(dtype=dtype, head_dim=dim, value_dim=v[1][3], access_bytes=access.value,
                mask=MASK_CAUSAL if causal else MASK_FULL,
                align={None: ALIGN_NONE, "top-left": ALIGN_TOP_LEFT, "bottom-right": ALIGN_BOTTOM_RIGHT}[causal])
    problem = Problem(batch=batch, heads=heads, kv_heads=kvHeads, seqlen_q=seqlenQ, seqlen_kv=seqlenKv)
    options = EngineOptions()
    if bundle:
        options = EngineOptions(bundles=(c_char_p * 1)(bundle.encode()), bundle_count=1, policy=POLICY_BUNDLE_ONLY)
    engine = tessera.make("engine_create", byref(options))
    kernel = tessera.make("engine_prepare", engine, byref(spec), byref(problem), device, None)
    info = KernelInfo()
    tessera.kernel_get_info(kernel, byref(info))
    text = info.text.decode()

    arguments = LaunchArguments(**{name: ctypes.pointer(tensor) for name, tensor in zip("qkvo", tensors)})
    tessera.kernel_launch(kernel, byref(arguments), None)
    tessera.device_synchronize(device)
    out = ctypes.create_string_buffer(itemSize(dtype) * batch * seqlenQ * heads * v[1][3])
    tessera.buffer_download(buffers[3], out, c_size_t(len(out)), c_size_t(0))

    for buffer in buffers:
        tessera.destroy("buffer", buffer)
    tessera.destroy("kernel", kernel)
    tessera.destroy("engine", engine)
    return outShape, out.raw, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in "qkv":
        parser.add_argument(name, metavar=f"{name}.npy")
    parser.add_argument("out", metavar="o.npy")
    parser.add_argument("--device", default="cuda:0", help='"cuda:0" (default), or "sim:a100" for the simulator')
    parser.add_argument("--causal", choices=("top-left", "bottom-right"), help="mask, with the corner that its diagonal goes through")
    parser.add_argument("--bundle", help="take the kernel from this bundle and compile nothing")
    parser.add_argument("--library", default="libtessera.so.0", help="path or name of libtessera.so")
    arguments = parser.parse_args()
    try:
        q, k, v = (readNpy(path) for path in (arguments.q, arguments.k, arguments.v))
        tessera = Tessera(arguments.library)
        device = tessera.make("device_open", arguments.device.encode())
        shape, values, text = attention(tessera, device, q, k, v, arguments.causal, arguments.bundle)
        tessera.destroy("device", device)
        writeNpy(arguments.out, q[0], shape, values)
    except (TesseraError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
